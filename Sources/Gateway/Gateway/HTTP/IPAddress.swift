import Glibc

/// IPv4 or IPv6 address. An IPv4 address mapped into IPv6 (RFC 4291, section 2.5.5.2) is the IPv4 address.
struct IPAddress: Sendable, Hashable {
  /// 4 or 16 bytes in the order of the network.
  let bytes: [UInt8]

  /// - Parameter text: an address without port and brackets. The zone of an IPv6 address (`fe80::1%eth0`, RFC 4007) has
  ///   a meaning on one machine only, and is left out.
  init?(_ text: some StringProtocol) {
    let text = Self.withoutZone(text)
    // The parser stops at NUL, which may come from the internet.
    guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
    if let bytes = Self.parse(text, AF_INET, length: 4) {
      self.bytes = bytes
    } else if let bytes = Self.parse(text, AF_INET6, length: 16) {
      let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
      self.bytes = isMapped ? Array(bytes[12...]) : bytes
    } else {
      return nil
    }
  }

  /// An entry of `X-Forwarded-For`: an address, perhaps with a port, an IPv6 address perhaps in brackets.
  init?(forwarded text: some StringProtocol) {
    if let address = IPAddress(text) {
      self = address
    } else if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]"), Self.isPort(text[text.index(after: end)...]) else { return nil }
      self.init(text[text.index(after: text.startIndex)..<end])
    } else {
      guard let colon = text.firstIndex(of: ":"), Self.isPort(text[colon...]) else { return nil }
      self.init(text[..<colon])
    }
  }

  var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
  }

  private static func isPort(_ text: some StringProtocol) -> Bool {
    text.isEmpty || text.first == ":" && UInt16(text.dropFirst()) != nil
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
  var description: String {
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
struct AddressRange: Sendable, Hashable {
  let base: IPAddress
  let bits: Int

  init?(_ text: String) {
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

  func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == base.bytes.count else { return false }
    let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
    guard address.bytes[..<whole] == base.bytes[..<whole] else { return false }
    guard rest > 0 else { return true }
    let mask = UInt8(truncatingIfNeeded: 0xFF00 >> rest)
    return address.bytes[whole] & mask == base.bytes[whole] & mask
  }

  /// Whether the range is so large that it holds clients, too: every IPv4 address with less than 8 bits, every IPv6
  /// address with less than 7 (`fc00::/7`, the private ones, is the largest that a network can be).
  var isTooLarge: Bool { bits < (base.bytes.count == 4 ? 8 : 7) }

  var isLoopback: Bool { base.isLoopback && (base.bytes.count == 4 ? bits >= 8 : bits == 128) }
}

/// Proxies that are believed when they tell a client's address in `X-Forwarded-For`.
struct TrustedProxies: Sendable, Hashable {
  let ranges: [AddressRange]

  /// The client's address: the right-most one that is not a trusted proxy's. Only trusted proxies' entries are read, so
  /// entries that the client wrote itself do not count.
  func client(peer: String, forwarded: [String]) -> String {
    guard var client = IPAddress(peer) else { return peer }
    let entries = forwarded.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
    for entry in entries.reversed() {
      guard contains(client), let next = IPAddress(forwarded: entry.trimmed) else { break }
      client = next
    }
    return client.description
  }

  func contains(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }
}

extension Substring {
  var trimmed: Substring {
    var text = self
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }
}
