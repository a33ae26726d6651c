extension ConfigurationSection {
  /// Reports a problem unless a condition holds.
  public func check(_ key: String, _ isRight: Bool, _ message: @autoclosure () -> String) {
    if !isRight { problem(key, message()) }
  }

  /// `baseURL`: an `http` or `https` URL. Without TLS to another machine it is an error unless `allowPlaintext` is set.
  public func baseURL(default fallback: String?, _ help: String) -> String {
    let url = fallback.map { string("baseURL", default: $0, help) } ?? string("baseURL", help)
    check(url: url, at: "baseURL", crossing: "codes and phone numbers")
    return url
  }

  /// Any other `http` or `https` URL that may be absent.
  /// - Parameter crossing: data that an eavesdropper on the network learns without TLS.
  public func optionalURL(_ key: String, crossing: String, _ help: String) -> String? {
    let url = optionalString(key, help)
    if let url { check(url: url, at: key, crossing: crossing) }
    return url
  }

  /// Reports plaintext on the network: as a problem, or as a warning if `allowPlaintext` is set next to it.
  /// - Parameters:
  ///   - key: the key of the destination.
  ///   - isPlain: whether it is plaintext; the key `allowPlaintext` is known in either case.
  ///   - text: the problem, such as `is http:// to another machine`.
  ///   - crossing: data that an eavesdropper on the network learns.
  ///   - remedy: the fix.
  public func checkPlaintext(_ key: String, _ isPlain: Bool, _ text: String, crossing: String, remedy: String) {
    let isAllowed = allowsPlaintext()
    guard isPlain else { return }
    let fact = "\(text): \(crossing) cross the network unencrypted"
    if isAllowed {
      warning(key, "\(fact); \(remedy)")
    } else {
      let path = path.isEmpty ? "allowPlaintext" : "\(path).allowPlaintext"
      problem(key, "\(fact); \(remedy), or set \(path) to true where the network is protected otherwise")
    }
  }

  func allowsPlaintext() -> Bool {
    bool(
      "allowPlaintext", default: false,
      "Whether this connection may go to another machine without TLS, readable on the network.")
  }

  private func check(url: String, at key: String, crossing: String) {
    let parts = URLParts(url)
    if parts == nil, !url.isEmpty {
      problem(key, "must be an http:// or https:// URL without user, password, query and fragment")
    }
    checkPlaintext(
      key, parts?.isUnprotected == true, "is http:// to another machine", crossing: crossing, remedy: "use https://")
  }
}

extension String {
  /// Whether the text has a length within the range and each scalar satisfies the rule.
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
