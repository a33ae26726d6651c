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
