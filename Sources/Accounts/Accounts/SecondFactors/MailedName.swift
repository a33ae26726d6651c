extension SecondFactor {
  /// So many characters a mail shows, as the mail-worker has it.
  private static let mostMailed = 64

  /// Name in a mail to the owner of the account: the masked number, or what the user calls the factor.
  ///
  /// A thief may have chosen that. So it has words alone: nothing that a mail program makes a link of, and nothing for
  /// which the mail-worker would refuse the mail.
  var mailedName: String? { phoneNumber.map(Self.masked) ?? plainName }

  /// The words of what the user calls the factor.
  var plainName: String? {
    guard let displayName else { return nil }
    let words = displayName.unicodeScalars.split { !Self.isWord($0) }.map { String(String.UnicodeScalarView($0)) }
    let name = words.joined(separator: " ").unicodeScalars.prefix(Self.mostMailed)
    return name.isEmpty ? nil : String(String.UnicodeScalarView(name))
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .decimalNumber:
      return !properties.isDefaultIgnorableCodePoint
    default: return scalar == "-" || scalar == "'" || scalar == "’"
    }
  }
}
