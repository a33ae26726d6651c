/// Codes of the characters of a pair of tables: one septet in the basic table, escape and a septet in the extension.
struct SeptetTables: Sendable {
  private let basic: [Unicode.Scalar: UInt8]
  private let extended: [Unicode.Scalar: UInt8]

  static let escape: UInt8 = 0x1B

  init(_ shift: NationalShift?) {
    basic = shift?.locking.flatMap(NationalTables.locking).map(Self.codes) ?? Self.defaultBasic
    extended = shift?.single.map { Self.codes(NationalTables.single($0)) } ?? Self.defaultExtended
  }

  /// Number of septets of a character: 1, 2, or 0 if it is in neither table.
  func septets(of scalar: Unicode.Scalar) -> Int {
    if basic[scalar] != nil { return 1 }
    return extended[scalar] != nil ? 2 : 0
  }

  /// None if it is in neither table.
  func codes(of scalar: Unicode.Scalar) -> [UInt8] {
    if let code = basic[scalar] { return [code] }
    return extended[scalar].map { [Self.escape, $0] } ?? []
  }

  static let standard = SeptetTables(nil)

  static let national: [NationalShift: SeptetTables] =
    Dictionary(uniqueKeysWithValues: NationalShift.all.map { ($0, SeptetTables($0)) })

  private static func codes(_ table: String) -> [Unicode.Scalar: UInt8] {
    var codes: [Unicode.Scalar: UInt8] = [:]
    for (code, scalar) in table.unicodeScalars.enumerated() where scalar != "…" && codes[scalar] == nil {
      codes[scalar] = UInt8(code)
    }
    return codes
  }

  /// The escape keeps its place in the table, without a character.
  private static let defaultBasic = codes(
    String(String.UnicodeScalarView(GSMAlphabet.basic.unicodeScalars.prefix(Int(escape)))) + "…"
      + String(String.UnicodeScalarView(GSMAlphabet.basic.unicodeScalars.dropFirst(Int(escape)))))

  /// Extension table (3GPP TS 23.038, 6.2.1.1).
  private static let defaultExtended: [Unicode.Scalar: UInt8] = [
    "\u{0C}": 0x0A, "^": 0x14, "{": 0x28, "}": 0x29, "\\": 0x2F, "[": 0x3C, "~": 0x3D, "]": 0x3E, "|": 0x40, "€": 0x65,
  ]
}
