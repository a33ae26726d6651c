/// Number of segments that a provider bills. Independent of the worker's own count, which it verifies.
enum SegmentCount {
  /// Characters of GSM 03.38 that take one septet.
  private static let basic = Set(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
      .unicodeScalars)
  /// Characters after an escape, which take two septets.
  private static let extended = Set("\u{0C}^{}\\[~]|€".unicodeScalars)

  /// Whether the GSM alphabet has a character.
  static func isGSM(_ scalar: Unicode.Scalar) -> Bool { basic.contains(scalar) || extended.contains(scalar) }

  /// At least 1. Escapes and surrogate pairs on a border may take one segment more than counted here.
  static func of(_ text: String) -> Int {
    var septets = 0
    for scalar in text.unicodeScalars {
      if basic.contains(scalar) {
        septets += 1
      } else if extended.contains(scalar) {
        septets += 2
      } else {
        return segments(text.utf16.count, single: 70, part: 67)
      }
    }
    return segments(septets, single: 160, part: 153)
  }

  private static func segments(_ units: Int, single: Int, part: Int) -> Int {
    units <= single ? 1 : (units + part - 1) / part
  }
}

/// Conversion of a text that is sent in the GSM alphabet.
enum GSMText {
  /// The text as it arrives: a question mark replaces every character outside the alphabet.
  static func arriving(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { SegmentCount.isGSM($0) ? $0 : "?" }))
  }
}
