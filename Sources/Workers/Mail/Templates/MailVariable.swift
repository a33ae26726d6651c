import ServiceRuntime

/// The rules keep a value from changing more than its own place.
enum MailVariable: String, CaseIterable, Sendable {
  case code, link, appName, change, secondFactor

  static let maxCodeLength = 16
  static let maxAppNameLength = 64
  /// In Unicode scalars.
  static let maxChangeLength = 500
  static let maxSecondFactorLength = 64

  /// The text never repeats the value.
  func problem(with value: String) -> String? {
    switch self {
    case .code:
      Self.isCode(value) ? nil : "must be 1 to \(Self.maxCodeLength) letters (A-Z), digits or hyphens"
    case .link:
      MailPlainText.isLink(value) || MailPlainText.isLocalLink(value)
        ? nil
        : "must be an https:// address, or http:// on localhost, of at most \(MailPlainText.maxLinkBytes) ASCII characters"
    case .appName: Self.problem(value, Self.maxAppNameLength)
    case .change: Self.problem(value, Self.maxChangeLength)
    case .secondFactor: Self.problem(value, Self.maxSecondFactorLength)
    }
  }

  private static func isCode(_ value: String) -> Bool {
    value.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...maxCodeLength)
  }

  private static func problem(_ value: String, _ length: Int) -> String? {
    let scalars = value.unicodeScalars
    let isFine =
      (1...length).contains(scalars.count) && MailPlainText.isLine(value)
      && !scalars.allSatisfy(\.properties.isWhitespace)
    return isFine ? nil : "must be 1 to \(length) printable characters without line breaks or direction marks"
  }
}
