/// Contexts in which invisible characters that join, separate or end words belong to the spelling (RFC 5892, appendix
/// A.1 and A.2, is narrower: it covers identifiers only, and no emoji).
extension PrintedText {
  private static let wordBorder: Unicode.Scalar = "\u{200B}"
  private static let nonJoiner: Unicode.Scalar = "\u{200C}"
  private static let joiner: Unicode.Scalar = "\u{200D}"

  static func isJoiner(
    _ scalar: Unicode.Scalar, allowedBetween before: Unicode.Scalar?, and next: Unicode.Scalar?
  ) -> Bool {
    // Repeated ones have no meaning.
    if let before, [wordBorder, nonJoiner, joiner].contains(before) { return false }
    switch scalar {
    case joiner: return before.map(mayBeJoined) == true
    case nonJoiner:
      // Persian separates suffixes also from digits and from words of other scripts: "۶‌رقمی", "SMS‌ها".
      return before.map { mayBeJoined($0) || isDigit($0) } == true || next.map(isJoinedLetter) == true
    // Also at the border to a word or number of another script, as keyboards write it.
    default: return before.map(hasNoSpaces) == true || next.map(hasNoSpaces) == true
    }
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .decimalNumber }

  /// Letters and marks of joined scripts, and emoji.
  private static func mayBeJoined(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x0590, !isLatinBeyond(scalar) else { return false }
    if isJoinedLetter(scalar) { return true }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .otherSymbol, .modifierSymbol: return true
    // Arrows and the like occur in sequences of emoji.
    default: return scalar.properties.isEmoji
    }
  }

  private static func isJoinedLetter(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x0590, !isLatinBeyond(scalar) else { return false }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .otherLetter, .modifierLetter: return true
    default: return false
    }
  }

  /// The later blocks of Latin, Greek and Cyrillic.
  private static func isLatinBeyond(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1D00...0x1FFF, 0x2C60...0x2C7F, 0x2DE0...0x2DFF, 0xA640...0xA69F, 0xA720...0xA7FF, 0xAB30...0xAB6F,
      0xFB00...0xFB06, 0xFF21...0xFF5A:
      true
    default: false
    }
  }

  /// Characters of scripts without spaces between words, for which Unicode has U+200B (The Unicode Standard, sections
  /// 16.1 to 16.4).
  private static func hasNoSpaces(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // Thai, Lao; Burmese and its extensions; Khmer and its symbols.
    case 0x0E00...0x0EFF, 0x1000...0x109F, 0xA9E0...0xA9FF, 0xAA60...0xAA7F, 0x1780...0x17FF, 0x19E0...0x19FF: true
    default: false
    }
  }
}
