/// Texts in the default alphabet of GSM 03.38. Independent of the worker's own code, which it verifies.
enum GSMText {
  private static let alphabet = Array(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u{1B}ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
      .unicodeScalars)
  private static let escape: UInt8 = 0x1B
  /// By the septet after an escape.
  private static let escaped: [UInt8: Unicode.Scalar] = [
    0x0A: "\u{0C}", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\", 0x3C: "[", 0x3D: "~", 0x3E: "]", 0x40: "|",
    0x65: "€",
  ]
  private static let septets: [Unicode.Scalar: Int] = {
    var septets = Dictionary(alphabet.map { ($0, 1) }) { first, _ in first }
    septets["\u{1B}"] = nil
    for scalar in escaped.values { septets[scalar] = 2 }
    return septets
  }()

  /// A question mark replaces every character that the alphabet lacks.
  static func arriving(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { septets[$0] == nil ? "?" : $0 }))
  }

  /// At least 1. Escapes and surrogate pairs on a border may take one segment more than counted here.
  static func segments(_ text: String) -> Int {
    let counts = text.unicodeScalars.map { septets[$0] }
    if counts.contains(nil) { return segments(text.utf16.count, single: 70, part: 67) }
    return segments(counts.reduce(0) { $0 + ($1 ?? 0) }, single: 160, part: 153)
  }

  private static func segments(_ units: Int, single: Int, part: Int) -> Int {
    units <= single ? 1 : (units + part - 1) / part
  }

  /// One septet per octet. `nil` for octets outside the alphabet.
  static func decode(_ octets: [UInt8]) -> String? {
    var text = String.UnicodeScalarView()
    var isEscaped = false
    for octet in octets {
      guard octet < alphabet.count, let scalar = isEscaped ? escaped[octet] : alphabet[Int(octet)] else {
        return nil
      }
      let begins = !isEscaped && octet == escape
      if !begins { text.append(scalar) }
      isEscaped = begins
    }
    return isEscaped ? nil : String(text)
  }
}
