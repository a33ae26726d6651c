import ServiceRuntime

/// A code, a name or a domain with a line break could write a last line of its own, which an iPhone would fill in. So
/// line breaks are refused.
enum TemplateVariable: String, CaseIterable, Sendable {
  case code, appName, domain, androidHash

  static let maxCodeLength = 16
  /// In Unicode scalars. No template with a longer one fits in one segment.
  static let maxAppNameLength = 64
  /// RFC 1035, 2.3.4, without the root's dot.
  static let maxDomainLength = 253
  /// RFC 1035, 2.3.4.
  static let maxLabelLength = 63

  /// Google, SMS Retriever API, "Construct a verification message".
  static let androidHashLength = 11

  /// The text never repeats the value.
  func problem(with value: String) -> String? {
    switch self {
    case .code:
      isCode(value) ? nil : "must be 1 to \(Self.maxCodeLength) letters (A-Z), digits or hyphens"
    case .appName:
      isName(value)
        ? nil : "must be 1 to \(Self.maxAppNameLength) printable characters without line breaks or direction marks"
    case .domain:
      isDomain(value) ? nil : "must be a host name such as example.com (an international one in its xn-- form)"
    case .androidHash:
      isHash(value)
        ? nil : "must be the \(Self.androidHashLength) characters of the app's hash for the SMS Retriever"
    }
  }

  private func isCode(_ value: String) -> Bool {
    value.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...Self.maxCodeLength)
  }

  private func isName(_ value: String) -> Bool {
    let scalars = value.unicodeScalars
    return (1...Self.maxAppNameLength).contains(scalars.count)
      && scalars.allSatisfy(isPrintable) && !scalars.allSatisfy(\.properties.isWhitespace)
  }

  /// Format characters are refused, because they are invisible or turn the direction of text. Joiners are allowed:
  /// correct spelling in Devanagari, Bengali, Arabic script and emoji needs them.
  private func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
    default: true
    }
  }

  /// Whether a value is two or more labels of letters, digits and inner hyphens, the last of them not a number (RFC
  /// 1123, 2.1).
  private func isDomain(_ value: String) -> Bool {
    guard value.utf8.count <= Self.maxDomainLength else { return false }
    let labels = value.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard labels.count >= 2, let last = labels.last, !last.unicodeScalars.allSatisfy(\.isDigit) else { return false }
    return labels.allSatisfy { label in
      label.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...Self.maxLabelLength)
        && !label.hasPrefix("-") && !label.hasSuffix("-")
    }
  }

  private func isHash(_ value: String) -> Bool {
    let length = Self.androidHashLength
    return value.isMatched(by: { $0.isLetterOrDigit || $0 == "+" || $0 == "/" }, length: length...length)
  }
}
