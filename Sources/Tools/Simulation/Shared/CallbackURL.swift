struct CallbackURL: Sendable {
  /// Whether addresses of this machine or of a private network are allowed, which no provider can reach.
  let allowsLocal: Bool

  /// Whether it is an absolute HTTP address with a host that may be public.
  func isTaken(_ text: String, maxLength: Int = .max) -> Bool {
    guard text.utf8.count <= maxLength, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return false }
    let lower = text.lowercased()
    guard let scheme = ["https://", "http://"].first(where: lower.hasPrefix) else { return false }
    let authority = lower.dropFirst(scheme.utf8.count).prefix { !"/?#".contains($0) }
    guard !authority.contains("@"), let host = Self.host(authority) else { return false }
    return Self.isHost(host) && (allowsLocal || !Self.isLocal(host))
  }

  /// `nil` if the port is not valid.
  private static func host(_ authority: Substring) -> Substring? {
    guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else { return authority }
    guard let port = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(port) else { return nil }
    return authority[..<colon]
  }

  /// Letters, digits, hyphens and dots. Twilio's error 21609 mentions underscores.
  private static func isHost(_ host: Substring) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") { return host.utf8.count > 2 }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    return labels.allSatisfy { label in
      (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
        && label.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }
    }
  }

  /// This machine, a name without a domain, and the private networks of RFC 1918 and RFC 3927.
  private static func isLocal(_ host: Substring) -> Bool {
    if host.hasPrefix("[") { return ["[::1]", "[fe80", "[fc", "[fd"].contains(where: host.hasPrefix) }
    let labels = host.split(separator: ".")
    if labels.count < 2 || labels.last == "localhost" || labels.last == "local" { return true }
    let numbers = labels.compactMap { UInt8($0) }
    guard numbers.count == 4, labels.count == 4 else { return false }
    return [0, 10, 127].contains(numbers[0]) || numbers.starts(with: [192, 168]) || numbers.starts(with: [169, 254])
      || numbers[0] == 172 && (16...31).contains(numbers[1])
  }
}
