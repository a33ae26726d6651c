import ServiceRuntime

extension ConfigurationSection {
  /// Reports a problem unless something is right.
  func check(_ key: String, _ isRight: Bool, _ message: @autoclosure () -> String) {
    if !isRight { problem(key, message()) }
  }

  /// `baseURL`: an `http` or `https` URL. Without TLS to another machine it is allowed, with a warning.
  func baseURL(default fallback: String?, _ help: String) -> String {
    let url = fallback.map { string("baseURL", default: $0, help) } ?? string("baseURL", help)
    guard !url.isEmpty else { return url }
    guard let parts = URLParts(url) else {
      problem("baseURL", "must be an http:// or https:// URL without user, password, query and fragment")
      return url
    }
    if parts.isUnprotected {
      warning(
        "baseURL", "is http:// to another machine: codes and phone numbers cross the network readable; use https://")
    }
    return url
  }

  /// `from`: a number in E.164, a short code (3 to 8 digits) or an alphanumeric sender ID (1 to 11 characters, at least one
  /// letter).
  func from(_ help: String) -> String? {
    guard let from = optionalString("from", help) else { return nil }
    check(
      "from", Self.isSender(from),
      "must be a number in E.164, a short code of 3 to 8 digits, or 1 to 11 letters, digits and spaces")
    return from
  }

  private static func isSender(_ text: String) -> Bool {
    if text.hasPrefix("+") { return String(text.dropFirst()).isMatched(by: \.isDigit, length: 7...15) }
    if text.isMatched(by: \.isDigit, length: 3...8) { return true }
    return text.isMatched(by: { $0.isLetterOrDigit || " -_&+.".unicodeScalars.contains($0) }, length: 1...11)
      && text.unicodeScalars.contains { $0.isLetterOrDigit && !$0.isDigit }
  }
}

extension String {
  func isMatched(by rule: (Unicode.Scalar) -> Bool, length: ClosedRange<Int>) -> Bool {
    length.contains(unicodeScalars.count) && unicodeScalars.allSatisfy(rule)
  }
}

extension Unicode.Scalar {
  var isDigit: Bool { ("0"..."9").contains(self) }
  var isLetterOrDigit: Bool { isDigit || ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
