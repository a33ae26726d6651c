import ServiceRuntime

extension ConfigurationSection {
  /// `from`: a number in E.164, a short code (3 to 8 digits) or an alphanumeric sender ID (1 to 11 characters, at least one
  /// letter).
  func from(_ help: String) -> String? {
    guard let from = optionalString("from", help) else { return nil }
    check(
      "from", Self.isSender(from),
      "must be a number in E.164, a short code of 3 to 8 digits, or 1 to 11 letters, digits and spaces")
    return from
  }

  /// `from` where it is required.
  func requiredFrom() -> String {
    if let from = from("Who the message is from: a number, a short code or an alphanumeric sender ID.") { return from }
    problem("from", "is required: who the message is from")
    return ""
  }

  private static func isSender(_ text: String) -> Bool {
    if text.hasPrefix("+") { return String(text.dropFirst()).isMatched(by: \.isDigit, length: 7...15) }
    if text.isMatched(by: \.isDigit, length: 3...8) { return true }
    return text.isMatched(by: { $0.isLetterOrDigit || " -_&+.".unicodeScalars.contains($0) }, length: 1...11)
      && text.unicodeScalars.contains { $0.isLetterOrDigit && !$0.isDigit }
  }
}
