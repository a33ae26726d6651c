/// An address such as `ada@example.com`: a mailbox of RFC 5321, with a dot-atom before the `@` and a host name after
/// it.
///
/// Quoted local parts and address literals are not taken: they are not used in practice, and carry characters that mean
/// something to the protocols. The remaining ones cannot end a command, a header field or an angle bracket.
public struct MailAddress: Sendable, Hashable {
  /// Local part, as written.
  public let localPart: String
  /// Domain in lower case.
  public let domain: String

  /// RFC 5321, 4.5.3.1.1.
  static let maxLocalBytes = 64
  /// RFC 5321, 4.5.3.1.2.
  static let maxDomainBytes = 255
  /// RFC 1035, 2.3.4.
  static let maxLabelBytes = 63
  /// RFC 5321, 4.5.3.1.3, without the brackets.
  static let maxBytes = 254

  /// - Returns: `nil` for a text that is not an address.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.maxBytes, let at = text.lastIndex(of: "@") else { return nil }
    let localPart = String(text[..<at])
    let domain = text[text.index(after: at)...].lowercased()
    guard Self.isLocalPart(localPart), Self.isDomain(domain) else { return nil }
    self.localPart = localPart
    self.domain = domain
  }

  /// The address as it is sent.
  public var text: String { "\(localPart)@\(domain)" }

  /// One text for all spellings. Servers may distinguish upper and lower case before the `@`, but do not.
  public var key: String { text.lowercased() }

  /// Whether SMTPUTF8 (RFC 6531) is needed.
  public var isInternational: Bool { !text.utf8.allSatisfy { $0 < 0x80 } }

  private static func isLocalPart(_ text: String) -> Bool {
    (1...maxLocalBytes).contains(text.utf8.count)
      && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
        !atom.isEmpty && atom.unicodeScalars.allSatisfy { isAtomText($0) || isInternational($0) }
      }
  }

  /// Two or more labels, the last one not a number (RFC 1123, 2.1). International ones as letters (RFC 6531, 3.3).
  static func isDomain(_ text: String) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= maxDomainBytes, labels.count >= 2, let last = labels.last,
      !last.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return false }
    return labels.allSatisfy { label in
      (1...maxLabelBytes).contains(label.utf8.count) && label.first != "-" && label.last != "-"
        && label.unicodeScalars.allSatisfy { isLetterOrDigit($0) || $0 == "-" || isInternational($0) }
    }
  }

  /// RFC 5322, 3.2.3.
  private static func isAtomText(_ scalar: Unicode.Scalar) -> Bool {
    isLetterOrDigit(scalar) || "!#$%&'*+-/=?^_`{|}~".unicodeScalars.contains(scalar)
  }

  private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
  }

  /// Whether a scalar beyond ASCII is a letter or a digit: no space, no control, no change of direction.
  private static func isInternational(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x80 else { return false }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .decimalNumber, .letterNumber:
      return true
    default: return false
    }
  }
}

extension MailAddress: CustomStringConvertible {
  /// The domain only: an address is personal data.
  public var description: String { "…@\(domain)" }
}
