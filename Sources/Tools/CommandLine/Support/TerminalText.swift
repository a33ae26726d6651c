import CountersignEncoding

/// Text that a terminal shows as it is: what would steer the terminal, or turn the order of letters round, is written out.
///
/// Dead letters, timelines and errors repeat what services, providers and the broker wrote. A control sequence in them
/// (ECMA-48, 5.4) could write to the clipboard or overwrite other lines; an override of the writing direction (Unicode
/// UAX #9, 2) could show one identifier as another.
enum TerminalText {
  /// The text with everything written out that is not shown; line feeds stay.
  static func lines(_ text: String) -> String { escaped(text, keepsLineFeeds: true) }

  /// The text on one line: line feeds are written out as well.
  static func line(_ text: String) -> String { escaped(text, keepsLineFeeds: false) }

  private static func escaped(_ text: String, keepsLineFeeds: Bool) -> String {
    guard text.unicodeScalars.contains(where: { isEscaped($0, keepsLineFeeds) }) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isEscaped(scalar, keepsLineFeeds) {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  private static func isEscaped(_ scalar: Unicode.Scalar, _ keepsLineFeeds: Bool) -> Bool {
    switch scalar.value {
    case 0x0A: !keepsLineFeeds
    // C0, DEL and C1; line and paragraph separator.
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: true
    // Embeddings, overrides and isolates of the writing direction.
    case 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The escape of JSON, so that JSON stays JSON with the same content.
  private static func escape(_ scalar: Unicode.Scalar) -> String {
    "\\u" + Hexadecimal.text(UInt64(scalar.value), width: 4)
  }
}
