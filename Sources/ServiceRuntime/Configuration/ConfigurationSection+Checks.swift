extension ConfigurationSection {
  /// Reports a problem unless something is right.
  public func check(_ key: String, _ isRight: Bool, _ message: @autoclosure () -> String) {
    if !isRight { problem(key, message()) }
  }

  /// `baseURL`: an `http` or `https` URL. Without TLS to another machine it is allowed, with a warning.
  public func baseURL(default fallback: String?, _ help: String) -> String {
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
}

extension String {
  /// Whether the text has a length within the range and each scalar keeps the rule.
  public func isMatched(by rule: (Unicode.Scalar) -> Bool, length: ClosedRange<Int>) -> Bool {
    length.contains(unicodeScalars.count) && unicodeScalars.allSatisfy(rule)
  }
}

extension Unicode.Scalar {
  /// A digit of ASCII.
  public var isDigit: Bool { ("0"..."9").contains(self) }
  /// A letter or digit of ASCII.
  public var isLetterOrDigit: Bool { isDigit || ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
