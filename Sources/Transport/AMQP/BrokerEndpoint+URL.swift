import CountersignEncoding

extension BrokerEndpoint {
  static let defaultPort = 5672
  static let defaultTLSPort = 5671
  /// It is a short string on the wire.
  static let maxVirtualHostBytes = 255

  /// Reads an AMQP URI (RabbitMQ URI Specification): `amqp[s]://[user[:password]@]host[:port][/vhost]`, with a list of
  /// hosts, separated by commas, in the place of one (`BrokerHost.list`).
  ///
  /// Parts may be percent-encoded. No path and a lone `/` both mean the default virtual host, as in most clients. Query
  /// parameters are refused: the configuration has keys for them.
  /// - Throws: `invalidURL`; the message never repeats the URL, which may contain a password.
  public init(url: String) throws(AMQPError) {
    let (scheme, rest) = try Self.split(url)
    guard !rest.contains("?"), !rest.contains("#") else {
      throw Self.invalid("query and fragment are not supported")
    }
    guard !rest.contains("://") else { throw Self.invalid("scheme and user stand once, before the first host") }
    let slash = rest.firstIndex(of: "/")
    let authority = rest[..<(slash ?? rest.endIndex)]
    let path = slash.map { rest[rest.index(after: $0)...] } ?? ""
    guard !path.contains("/") else { throw Self.invalid("write a slash in the virtual host as %2F") }

    let at = authority.lastIndex(of: "@")
    let hosts = try Self.hosts(at.map { authority[authority.index(after: $0)...] } ?? authority, scheme)
    let (username, password) = try Self.credentials(at.map { authority[..<$0] })
    let virtualHost = try Self.decode(path, "the virtual host")
    guard virtualHost.utf8.count <= Self.maxVirtualHostBytes else {
      throw Self.invalid("the virtual host is longer than \(Self.maxVirtualHostBytes) bytes")
    }
    self.init(
      hosts: hosts, virtualHost: virtualHost.isEmpty ? "/" : virtualHost, username: username, password: password,
      tls: scheme == "amqps" ? TLSSettings() : nil)
  }

  private static func split(_ url: String) throws(AMQPError) -> (scheme: String, rest: Substring) {
    guard let colon = url.firstIndex(of: ":") else { throw invalid("it must begin with amqp:// or amqps://") }
    let scheme = url[..<colon].lowercased()
    let rest = url[url.index(after: colon)...]
    guard scheme == "amqp" || scheme == "amqps", rest.hasPrefix("//") else {
      throw invalid("it must begin with amqp:// or amqps://")
    }
    return (scheme, rest.dropFirst(2))
  }

  private static func hosts(_ text: Substring, _ scheme: String) throws(AMQPError) -> [BrokerHost] {
    do {
      return try BrokerHost.list(text, defaultPort: scheme == "amqps" ? defaultTLSPort : defaultPort)
    } catch {
      throw invalid(error.message)
    }
  }

  private static func credentials(_ text: Substring?) throws(AMQPError) -> (String, String) {
    guard let text else { return ("guest", "guest") }
    do {
      try BrokerHost.requireOneUser(text)
    } catch {
      throw invalid(error.message)
    }
    guard let colon = text.firstIndex(of: ":") else { return (try decode(text, "the user"), "") }
    return (try decode(text[..<colon], "the user"), try decode(text[text.index(after: colon)...], "the password"))
  }

  private static func decode(_ text: Substring, _ part: String) throws(AMQPError) -> String {
    // A C string ends at a NUL.
    guard let decoded = PercentEncoding.decode(strictly: text), !decoded.utf8.contains(0) else {
      throw invalid("\(part) is not percent-encoded UTF-8 without NUL")
    }
    return decoded
  }

  private static func invalid(_ why: String) -> AMQPError {
    AMQPError(.invalidURL, "not an AMQP URL: \(why)")
  }
}
