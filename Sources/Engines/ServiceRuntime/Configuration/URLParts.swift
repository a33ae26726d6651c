/// An `http` or `https` URL as far as the configuration needs it (RFC 3986): a scheme, a host, perhaps a port and a
/// path.
public struct URLParts: Sendable, Hashable {
  /// The host, as written in the URL.
  public let host: String
  /// Whether the traffic can be read on the way: no TLS, and another machine.
  public let isUnprotected: Bool
  /// Scheme, host and port: the URL without its path, which may hold an account.
  public let base: String

  /// - Returns: `nil` for another scheme, no host, a user or password, a query, a fragment, or characters that a URL
  ///   cannot have. (A password belongs into a file, and these lanes send no queries.)
  public init?(_ url: String) {
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains(where: { "?#@<>\"\\^`{|}".contains($0) }),
      let scheme = ["https://", "http://"].first(where: url.hasPrefix)
    else { return nil }
    let authority = url.dropFirst(scheme.count).prefix { $0 != "/" }
    let end =
      authority.hasPrefix("[")
      ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.firstIndex(of: ":")
    let host = authority[..<(end ?? authority.endIndex)]
    let port = authority[host.endIndex...]
    guard !host.isEmpty, port.isEmpty || port.first == ":" && UInt16(port.dropFirst()).map({ $0 > 0 }) == true else {
      return nil
    }
    self.host = String(host)
    base = scheme + authority
    self.isUnprotected = scheme == "http://" && !LocalHost.contains(self.host)
  }
}

/// Recognizes hosts that are reached without a network.
public enum LocalHost {
  /// Whether a host, by name or address, is this machine's loopback: `localhost`, `127.0.0.0/8`, `::1`.
  ///
  /// Names below `localhost` do not count, because not every resolver keeps them local (RFC 6761, section 6.3), nor
  /// does a name that only begins like an address, such as `127.example.net`.
  public static func contains(_ host: String) -> Bool {
    if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
