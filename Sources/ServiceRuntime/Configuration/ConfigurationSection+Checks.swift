extension ConfigurationSection {
  /// Reports a problem unless something is right.
  public func check(_ key: String, _ isRight: Bool, _ message: @autoclosure () -> String) {
    if !isRight { problem(key, message()) }
  }

  /// `baseURL`: an `http` or `https` URL. Without TLS to another machine it is allowed, with a warning.
  public func baseURL(default fallback: String?, _ help: String) -> String {
    let url = fallback.map { string("baseURL", default: $0, help) } ?? string("baseURL", help)
    check(url: url, at: "baseURL", crossing: "codes and phone numbers")
    return url
  }

  /// Any other `http` or `https` URL that may be absent.
  /// - Parameter crossing: What whoever reads the network learns without TLS.
  public func optionalURL(_ key: String, crossing: String, _ help: String) -> String? {
    let url = optionalString(key, help)
    if let url { check(url: url, at: key, crossing: crossing) }
    return url
  }

  private func check(url: String, at key: String, crossing: String) {
    guard !url.isEmpty else { return }
    guard let parts = URLParts(url) else {
      problem(key, "must be an http:// or https:// URL without user, password, query and fragment")
      return
    }
    if parts.isUnprotected {
      warning(key, "is http:// to another machine: \(crossing) cross the network readable; use https://")
    }
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
