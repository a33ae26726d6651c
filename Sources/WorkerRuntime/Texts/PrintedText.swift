/// Tells text that says what it shows from text that hides something, or shows it in another order.
///
/// The rule is that of the FreeformClass of PRECIS (RFC 8264, section 4.3) as far as it forbids: no control characters, private use
/// or noncharacters, and of what is drawn as nothing only what a language needs. So of the formats stay
/// - the joiners U+200C and U+200D, where they join: not behind ASCII, Latin, Greek or Cyrillic, a space or another joiner (RFC 5892,
///   appendix A.1 and A.2, which also ask for a certain letter behind them, and know nothing of emoji),
/// - the marks of direction U+200E, U+200F and U+061C, which Hebrew and Arabic need beside digits and which turn nothing beyond their
///   neighbors; overrides, embeddings and isolates do (UAX #9, 2.1 to 2.4) and are refused,
/// - the tags of a flag (UTS #51, ED-14a) behind the flag,
/// - the visible ones, such as the sign of an Arabic number.
public enum PrintedText {
  /// Whether a text of one or several lines may be sent; a lone CR or LF counts as a line break, and tabs are allowed.
  public static func isClean(_ text: String) -> Bool {
    var before = Before()
    for scalar in text.unicodeScalars {
      guard isAllowed(scalar, behind: before) else { return false }
      before.take(scalar)
    }
    return true
  }

  /// What stands before a scalar, as far as that matters.
  private struct Before {
    var mayBeJoined = false
    var isFlagOrTag = false

    mutating func take(_ scalar: Unicode.Scalar) {
      isFlagOrTag = scalar == blackFlag || isFlagOrTag && PrintedText.isTag(scalar)
      // A selector belongs to the character before it.
      if !(0xFE00...0xFE0F).contains(scalar.value) { mayBeJoined = PrintedText.mayBeJoined(scalar) }
    }
  }

  private static let blackFlag: Unicode.Scalar = "\u{1F3F4}"

  private static func isAllowed(_ scalar: Unicode.Scalar, behind before: Before) -> Bool {
    switch scalar.value {
    // The usual ones need no look-up: ASCII, Latin, Greek, Cyrillic, but for the soft hyphen and the grapheme joiner.
    case 0x20...0x7E, 0xA0...0xAC, 0xAE...0x34E, 0x350...0x52F: return true
    case 0x09, 0x0A, 0x0D: return true
    case 0x200C, 0x200D: return before.mayBeJoined
    case 0x200E, 0x200F, 0x061C: return true
    case _ where isTag(scalar): return before.isFlagOrTag
    default: return isVisible(scalar)
    }
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: return false
    // Unassigned ones may be assigned by a newer Unicode than this process knows, as new emoji are.
    case .unassigned: return !properties.isNoncharacterCodePoint && !properties.isDefaultIgnorableCodePoint
    // Annotations are formats that change what is shown (U+FFF9 to U+FFFB).
    case .format: return !properties.isDefaultIgnorableCodePoint && !(0xFFF9...0xFFFB).contains(scalar.value)
    // Selectors choose how a character is drawn; fillers, letters by category, are drawn as nothing.
    case .nonspacingMark: return true
    default: return !properties.isDefaultIgnorableCodePoint
    }
  }

  /// Letters and marks of scripts that are joined, and emoji.
  private static func mayBeJoined(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x0590 else { return false }
    if isLatinBeyond(scalar) { return false }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark,
      .enclosingMark, .otherSymbol, .modifierSymbol:
      return true
    // Arrows and the like stand in sequences of emoji.
    default: return scalar.properties.isEmoji
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

  private static func isTag(_ scalar: Unicode.Scalar) -> Bool { (0xE0020...0xE007F).contains(scalar.value) }
}
