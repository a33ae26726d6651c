/// The GSM 7 bit default alphabet and its extension table (3GPP TS 23.038, 6.2.1 and 6.2.1.1).
///
/// The national language tables are in `NationalTables`: providers do not use them unless told to, so they do not count here.
enum GSMAlphabet {
  /// The septets that a scalar takes: 1 from the basic table, 2 (escape and code) from the extension table, 0 when it is in
  /// neither.
  static func septets(of scalar: Unicode.Scalar) -> Int {
    if scalar.value < UInt32(table.count) { return Int(table[Int(scalar.value)]) }
    return scalar == "€" ? 2 : 0
  }

  /// The scalar of the alphabet that is canonically equivalent to a character, such as é for e and a combining acute accent;
  /// nil when there is none.
  static func precomposed(_ character: Character) -> Unicode.Scalar? { compositions[character] }

  /// Upper case Ç is right at 0x09: the alphabet has no lower case ç. Escape itself is left out, it is not a character.
  static let basic =
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    + "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"

  /// Each of these stands behind an escape septet.
  static let extended = "\u{0C}^{}\\[~]|€"

  /// Septets by scalar value. It ends behind Ω (U+03A9), the highest of the basic table; only € lies beyond.
  private static let table: [UInt8] = {
    var table = [UInt8](repeating: 0, count: 0x3AA)
    for scalar in basic.unicodeScalars { table[Int(scalar.value)] = 1 }
    for scalar in extended.unicodeScalars where scalar != "€" { table[Int(scalar.value)] = 2 }
    return table
  }()

  /// Swift compares characters by canonical equivalence, so that the composed spelling finds every other one.
  private static let compositions: [Character: Unicode.Scalar] = {
    var compositions: [Character: Unicode.Scalar] = [:]
    for scalar in (basic + extended).unicodeScalars { compositions[Character(scalar)] = scalar }
    return compositions
  }()
}
