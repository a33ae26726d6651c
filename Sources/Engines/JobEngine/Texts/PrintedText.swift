/// Distinguishes text that reads as it is shown from text that hides something or shows it in another order: PRECIS'
/// FreeformClass (RFC 8264, section 4.3).
///
/// Allowed invisible formats are joiners where a script needs them, the marks U+200E, U+200F and U+061C, the tags of a
/// flag (UTS #51), and visible ones. Overrides, embeddings and isolates (UAX #9) are refused.
public enum PrintedText {
  /// Whether a text of one or several lines may be sent. A lone CR or LF counts as a line break, and tabs are allowed.
  public static func isClean(_ text: String) -> Bool {
    var before = Before()
    var scalars = text.unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      guard isAllowed(scalar, behind: before, before: scalars.first) else { return false }
      before.take(scalar)
    }
    return true
  }

  /// Whether a text is clean and a single line without tabs.
  public static func isCleanLine(_ text: String) -> Bool {
    !text.utf8.contains { $0 < 0x20 } && isClean(text)
  }

  /// Text of the refusal, with the usual fix for isolates.
  public static let refused = """
    controls other than line breaks and tabs, direction overrides or isolates, zero-width or private-use characters. Libraries such \
    as Project Fluent put isolates (U+2068, U+2069) around variables: turn that off (useIsolating: false)
    """

  private struct Before {
    /// The last scalar other than a selector, since a selector belongs to the character before it.
    var character: Unicode.Scalar?
    var isFlagOrTag = false

    mutating func take(_ scalar: Unicode.Scalar) {
      isFlagOrTag = scalar == blackFlag || isFlagOrTag && PrintedText.isTag(scalar)
      if !(0xFE00...0xFE0F).contains(scalar.value) { character = scalar }
    }
  }

  private static let blackFlag: Unicode.Scalar = "\u{1F3F4}"

  private static func isAllowed(_ scalar: Unicode.Scalar, behind before: Before, before next: Unicode.Scalar?) -> Bool {
    switch scalar.value {
    // Common ones need no look-up: ASCII, Latin, Greek, Cyrillic, except for the soft hyphen and the grapheme joiner.
    case 0x20...0x7E, 0xA0...0xAC, 0xAE...0x34E, 0x350...0x52F: return true
    case 0x09, 0x0A, 0x0D: return true
    case 0x200B...0x200D: return isJoiner(scalar, allowedBetween: before.character, and: next)
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
    // Annotations are formats that change the displayed text (U+FFF9 to U+FFFB).
    case .format: return !properties.isDefaultIgnorableCodePoint && !(0xFFF9...0xFFFB).contains(scalar.value)
    // Selectors choose the form of a character; fillers, letters by category, are invisible.
    case .nonspacingMark: return true
    default: return !properties.isDefaultIgnorableCodePoint
    }
  }

  private static func isTag(_ scalar: Unicode.Scalar) -> Bool { (0xE0020...0xE007F).contains(scalar.value) }
}
