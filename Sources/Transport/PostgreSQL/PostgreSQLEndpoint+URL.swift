import CountersignEncoding
public import CountersignTelemetry

extension PostgreSQLEndpoint {
  /// The longest name of a user or database (NAMEDATALEN of the server).
  private static let maxNameBytes = 63

  /// Reads `postgresql://user@host[:port][,host[:port]]…/database`, with `postgres` as another name of the scheme.
  ///
  /// Parts may be percent-encoded; a host that begins with an encoded slash is the directory of a Unix socket. Password
  /// and parameters are refused: the configuration has keys for these.
  ///
  /// - Throws: ``StoreError/Code/invalidURL``; the message never repeats the URL.
  public init(url: String) throws(StoreError) {
    let rest = try Self.rest(of: url)
    guard !rest.contains("?"), !rest.contains("#") else {
      throw Self.invalid("parameters are not supported")
    }
    guard let slash = rest.firstIndex(of: "/") else { throw Self.invalid("the database is missing") }
    let authority = rest[..<slash]
    guard let at = authority.lastIndex(of: "@") else { throw Self.invalid("the user is missing") }
    let user = authority[..<at]
    guard !user.contains(":") else { throw Self.invalid("the password does not belong into it") }
    let database = rest[rest.index(after: slash)...]
    guard !database.contains("/") else { throw Self.invalid("write a slash in the name of the database as %2F") }
    self.init(
      hosts: try Self.addresses(authority[authority.index(after: at)...]),
      database: try Self.name(database, "the database"), user: try Self.name(user, "the user"))
  }

  private static func rest(of url: String) throws(StoreError) -> Substring {
    guard let colon = url.firstIndex(of: ":"), ["postgresql", "postgres"].contains(url[..<colon].lowercased()),
      url[colon...].hasPrefix("://")
    else { throw invalid("it must begin with postgresql://") }
    return url[colon...].dropFirst(3)
  }

  private static func addresses(_ text: Substring) throws(StoreError) -> [ServerAddress] {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= maxHosts else { throw invalid("it names more than \(maxHosts) hosts") }
    var addresses: [ServerAddress] = []
    for part in parts { addresses.append(try address(part)) }
    return addresses
  }

  private static func address(_ text: Substring) throws(StoreError) -> ServerAddress {
    var host = text
    var port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw invalid("the IPv6 address has no closing bracket") }
      host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { throw invalid("there is text after the IPv6 address") }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    let name = try decode(host, "the host")
    guard !name.isEmpty else { throw invalid("a host is missing") }
    guard let port else { return ServerAddress(host: name) }
    guard let number = Int(port), (1...65535).contains(number) else {
      throw invalid("the port must be a number from 1 to 65535")
    }
    return ServerAddress(host: name, port: number)
  }

  private static func name(_ text: Substring, _ part: String) throws(StoreError) -> String {
    let name = try decode(text, part)
    guard !name.isEmpty else { throw invalid("\(part) is missing") }
    // The server would cut it off, and find another one.
    guard name.utf8.count <= maxNameBytes else { throw invalid("\(part) is longer than \(maxNameBytes) bytes") }
    return name
  }

  private static func decode(_ text: Substring, _ part: String) throws(StoreError) -> String {
    // A C string ends at a NUL.
    guard let decoded = PercentEncoding.decode(strictly: text), !decoded.utf8.contains(0) else {
      throw invalid("\(part) is not percent-encoded UTF-8 without NUL")
    }
    return decoded
  }

  private static func invalid(_ why: String) -> StoreError {
    StoreError(.invalidURL, "not a URL of PostgreSQL: \(why)")
  }
}
