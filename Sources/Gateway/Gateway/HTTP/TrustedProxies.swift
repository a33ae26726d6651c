import CountersignEncoding

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

extension IPAddress {
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

  private static func isPort(_ text: some StringProtocol) -> Bool {
    text.isEmpty || text.first == ":" && UInt16(text.dropFirst()) != nil
  }
}
