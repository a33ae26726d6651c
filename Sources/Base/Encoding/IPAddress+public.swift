extension IPAddress {
  /// Whether the address is one of the public internet, as far as the registries of special addresses say (RFC 6890):
  /// neither of this machine nor of a network of its own, and no group's.
  ///
  /// Of an IPv6 address that carries an IPv4 one (NAT64, RFC 6052; 6to4, RFC 3056) that one counts.
  package var isPublic: Bool {
    if bytes.count == 4 { return !Self.special.contains { $0.contains(self) } }
    if Self.translated.contains(where: { $0.contains(self) }) {
      return IPAddress(bytes: Array(bytes.suffix(4)))?.isPublic ?? false
    }
    if Self.tunneled.contains(where: { $0.contains(self) }) {
      return IPAddress(bytes: Array(bytes[2..<6]))?.isPublic ?? false
    }
    return Self.global.contains { $0.contains(self) } && !Self.special.contains { $0.contains(self) }
  }

  private static let global = ranges("2000::/3")
  private static let translated = ranges("64:ff9b::/96")
  private static let tunneled = ranges("2002::/16")
  private static let special = ranges(
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    "2001::/23", "2001:db8::/32", "3fff::/20")

  private static func ranges(_ texts: String...) -> [AddressRange] { texts.compactMap { AddressRange($0) } }
}
