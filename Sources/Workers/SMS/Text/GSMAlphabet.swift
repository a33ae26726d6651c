/// The GSM 7 bit default alphabet and its extension table (3GPP TS 23.038, 6.2.1 and 6.2.1.1).
///
/// The national language tables are in `NationalTables`: providers use them only if told to, so they do not count here.
enum GSMAlphabet {
  /// Number of septets of a scalar: 1 in the basic table, 2 (escape and code) in the extension table, 0 if it is in
  /// neither.
  static func septets(of scalar: Unicode.Scalar) -> Int {
    if scalar.value < UInt32(table.count) { return Int(table[Int(scalar.value)]) }
    return scalar == "€" ? 2 : 0
  }

  /// Scalar of the alphabet that is canonically equivalent to a character, such as é for e and a combining acute
  /// accent. `nil` if there is none.
  static func precomposed(_ character: Character) -> Unicode.Scalar? { compositions[character] }

  /// Basic table without the escape, which is not a character. Upper case Ç at 0x09 is correct: the alphabet has no
  /// lower case ç.
  static let basic =
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    + "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"

  /// Extension table. Each character follows an escape septet.
  static let extended = "\u{0C}^{}\\[~]|€"

  /// Number of septets by scalar value. It ends after Ω (U+03A9), the highest of the basic table; only € lies beyond.
  private static let table: [UInt8] = {
    var table = [UInt8](repeating: 0, count: 0x3AA)
    for scalar in basic.unicodeScalars { table[Int(scalar.value)] = 1 }
    for scalar in extended.unicodeScalars where scalar != "€" { table[Int(scalar.value)] = 2 }
    return table
  }()

  /// Swift compares characters by canonical equivalence, so every spelling finds the composed one.
  private static let compositions: [Character: Unicode.Scalar] = {
    var compositions: [Character: Unicode.Scalar] = [:]
    for scalar in (basic + extended).unicodeScalars { compositions[Character(scalar)] = scalar }
    return compositions
  }()
}
