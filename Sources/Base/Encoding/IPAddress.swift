import Glibc

/// IPv4 or IPv6 address. An IPv4 address mapped into IPv6 (RFC 4291, section 2.5.5.2) is the IPv4 address.
package struct IPAddress: Sendable, Hashable {
  /// 4 or 16 bytes in the order of the network.
  package let bytes: [UInt8]

  /// - Parameter text: an address without port and brackets. The zone of an IPv6 address (`fe80::1%eth0`, RFC 4007) has
  ///   a meaning on one machine only, and is left out.
  package init?(_ text: some StringProtocol) {
    let text = Self.withoutZone(text)
    // The parser stops at NUL, which may come from the internet.
    guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
    guard
      let bytes = Self.parse(text, AF_INET, length: Self.shortLength)
        ?? Self.parse(text, AF_INET6, length: Self.longLength)
    else { return nil }
    self.init(bytes: bytes)
  }

  /// - Parameter bytes: 4 or 16 bytes in the order of the network.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.longLength else {
      guard bytes.count == Self.shortLength else { return nil }
      self.bytes = bytes
      return
    }
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    self.bytes = isMapped ? Array(bytes[12...]) : bytes
  }

  private static let shortLength = 4
  private static let longLength = 16

  package var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
  }

  private static func withoutZone(_ text: some StringProtocol) -> String {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].contains(":"), !parts[1].isEmpty else { return String(text) }
    return String(parts[0])
  }

  private static func parse(_ text: String, _ family: Int32, length: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: length)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}

extension IPAddress: CustomStringConvertible {
  /// The address in its usual form (RFC 5952 for IPv6).
  package var description: String {
    let family = bytes.count == 4 ? AF_INET : AF_INET6
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      guard let start = text.baseAddress, inet_ntop(family, bytes, start, socklen_t(text.count)) != nil else {
        return ""
      }
      return String(cString: start)
    }
  }
}

/// Addresses with a common beginning: `10.0.0.0/8`, `2001:db8::/32`, or a single one.
package struct AddressRange: Sendable, Hashable {
  package let base: IPAddress
  package let bits: Int

  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let base = IPAddress(first) else { return nil }
    let length = base.bytes.count * 8
    self.base = base
    guard parts.count == 2 else {
      bits = length
      return
    }
    // A mapped range counts from the beginning of the IPv6 address.
    let isMapped = length == 32 && first.contains(":")
    guard let bits = Int(parts[1]), (0...(isMapped ? 128 : length)).contains(bits) else { return nil }
    self.bits = isMapped ? max(0, bits - 96) : bits
  }

  package func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == base.bytes.count else { return false }
    let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
    guard address.bytes[..<whole] == base.bytes[..<whole] else { return false }
    guard rest > 0 else { return true }
    let mask = UInt8(truncatingIfNeeded: 0xFF00 >> rest)
    return address.bytes[whole] & mask == base.bytes[whole] & mask
  }

  /// Whether the range is so large that it holds clients, too: every IPv4 address with less than 8 bits, every IPv6
  /// address with less than 7 (`fc00::/7`, the private ones, is the largest that a network can be).
  package var isTooLarge: Bool { bits < (base.bytes.count == 4 ? 8 : 7) }

  package var isLoopback: Bool { base.isLoopback && (base.bytes.count == 4 ? bits >= 8 : bits == 128) }
}
