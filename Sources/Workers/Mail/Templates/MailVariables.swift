import JobEngine

extension TemplateVariables {
  /// Built-in variables of mail. The rules keep a value from changing more than its own place.
  static let mail = TemplateVariables([
    (.code, TemplateRules.code), (.link, MailVariables.link), (.appName, MailVariables.appName),
    (.change, { MailVariables.line($0, MailVariables.maxChangeLength) }),
    (.secondFactor, { MailVariables.line($0, MailVariables.maxNameLength) }),
  ])
}

enum MailVariables {
  /// In Unicode scalars, of an app or a second factor.
  static let maxNameLength = 64
  /// In Unicode scalars.
  static let maxChangeLength = 500

  static func appName(_ value: String) -> String? { line(value, maxNameLength) }

  static func link(_ value: String) -> String? {
    MailPlainText.isLink(value) || MailPlainText.isLocalLink(value)
      ? nil
      : "must be an https:// address, or http:// on localhost, of at most \(MailPlainText.maxLinkBytes) ASCII characters"
  }

  /// - Parameter length: maximum length in Unicode scalars.
  static func line(_ value: String, _ length: Int) -> String? {
    let scalars = value.unicodeScalars
    let isFine =
      (1...length).contains(scalars.count) && MailPlainText.isLine(value)
      && !scalars.allSatisfy(\.properties.isWhitespace)
    return isFine ? nil : "must be 1 to \(length) printable characters without line breaks or direction marks"
  }
}
