import CountersignEncoding

extension BrokerHost {
  /// Maximum number of hosts in a list: clusters have three to seven nodes, and a round of attempts has to end.
  public static let maxCount = 16

  /// Reads the hosts of a URL: `host[:port]`, separated by commas. IPv6 addresses in brackets. Names may be
  /// percent-encoded.
  ///
  /// - Parameter defaultPort: port of a host that names none.
  /// - Throws: `invalidURL`; the message gives the place in the list and never repeats the text, which may contain a
  ///   password.
  package static func list(_ text: Substring, defaultPort: Int) throws(AMQPError) -> [BrokerHost] {
    let parts = text.split(separator: ",", maxSplits: maxCount, omittingEmptySubsequences: false)
    guard parts.count <= maxCount else { throw invalid("there are more than \(maxCount) hosts") }
    var hosts: [BrokerHost] = []
    var places: [BrokerHost: Int] = [:]
    for (index, part) in parts.enumerated() {
      let place = parts.count == 1 ? "the host" : "host \(index + 1) of \(parts.count)"
      let host = try host(part, defaultPort: defaultPort, place: place)
      // Names of hosts have no case.
      if let earlier = places.updateValue(index + 1, forKey: BrokerHost(host.name.lowercased(), port: host.port)) {
        throw invalid("\(place) is the same as host \(earlier): name each once")
      }
      hosts.append(host)
    }
    return hosts
  }

  /// Refuses what stands before the last `@` of a URL if it looks like a user for each host: that would pass for one
  /// long name or password, and all hosts but the last would be lost.
  package static func requireOneUser(_ text: Substring) throws(AMQPError) {
    let isRepeated = text.firstIndex(of: "@").map { text[$0...].contains(",") } ?? false
    guard !isRepeated, !text.prefix(while: { $0 != ":" }).contains(",") else {
      throw invalid(
        "the user stands once, before the first host; in a user or password, write @ as %40 and a comma as %2C")
    }
  }

  private static func host(_ text: Substring, defaultPort: Int, place: String) throws(AMQPError) -> BrokerHost {
    let (name, port) = try split(text, place)
    guard let decoded = PercentEncoding.decode(strictly: name), !decoded.utf8.contains(0) else {
      throw invalid("\(place) is not percent-encoded UTF-8 without NUL")
    }
    guard !decoded.isEmpty else { throw invalid("\(place) is missing") }
    guard decoded.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !delimiters.contains($0) }) else {
      throw invalid("\(place) has a space, or a character that no name has; commas alone separate hosts")
    }
    guard let port else { return BrokerHost(decoded, port: defaultPort) }
    guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(port), (1...65535).contains(number)
    else { throw invalid("the port of \(place) must be a number from 1 to 65535") }
    return BrokerHost(decoded, port: number)
  }

  /// Characters that end a host, or stand before it, in URLs (RFC 3986, section 2.2).
  private static let delimiters = Set(",;@/?#[]\\\"<>".utf8)

  private static func split(_ text: Substring, _ place: String) throws(AMQPError) -> (Substring, port: Substring?) {
    guard text.hasPrefix("[") else {
      guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
      let port = text[text.index(after: colon)...]
      guard !port.contains(":") else { throw invalid("\(place) has several colons; write an IPv6 address in brackets") }
      return (text[..<colon], port)
    }
    guard let end = text.firstIndex(of: "]") else { throw invalid("\(place) has no closing bracket") }
    let rest = text[text.index(after: end)...]
    guard rest.isEmpty || rest.hasPrefix(":") else { throw invalid("\(place) has text after its closing bracket") }
    return (text[text.index(after: text.startIndex)..<end], rest.isEmpty ? nil : rest.dropFirst())
  }

  private static func invalid(_ why: String) -> AMQPError { AMQPError(.invalidURL, why) }
}
