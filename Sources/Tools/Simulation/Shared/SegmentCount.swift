/// How many segments a provider bills: written apart from the worker's own count, which it so checks.
enum SegmentCount {
  /// The characters of GSM 03.38 that take one septet.
  private static let basic = Set(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
      .unicodeScalars)
  /// Those behind an escape: two septets.
  private static let extended = Set("\u{0C}^{}\\[~]|€".unicodeScalars)

  /// Whether the GSM alphabet has a character.
  static func isGSM(_ scalar: Unicode.Scalar) -> Bool { basic.contains(scalar) || extended.contains(scalar) }

  /// At least 1. Escape and surrogate pairs that fall on a border may make it one more than is counted here.
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
