/// The text of a short message as a network will carry it: which encoding, how many units, how many segments.
///
/// GSM 7 bit is taken when every character is in it, else UCS-2. A text whose characters are only spelled differently from
/// the alphabet (a letter and a combining accent, the ångström sign) is composed first, which costs nothing and keeps it in
/// GSM 7 bit.
public struct SMSText: Sendable, Hashable {
  /// What to hand to the provider. Canonically equivalent to the text that was given.
  public let text: String
  public let encoding: SMSEncoding
  /// The national tables that the encoding needs; nil for the default alphabet, and for UCS-2.
  public let shift: NationalShift?
  /// The length of the whole text: septets in GSM 7 bit, code units in UCS-2.
  public let units: Int
  /// The number of short messages that it takes; an empty text takes one.
  public let segments: Int

  /// - Parameter text: Any text; limits on its length are the caller's.
  public init(_ text: String) {
    if let units = Self.septets(of: text, GSMAlphabet.septets) {
      self.init(text: text, encoding: .gsm7, units: units)
    } else if let composed = Self.composed(text), let units = Self.septets(of: composed, GSMAlphabet.septets) {
      self.init(text: composed, encoding: .gsm7, units: units)
    } else {
      self.init(text: text, encoding: .ucs2, units: text.utf16.count)
    }
  }

  /// A text in UCS-2, whatever alphabet it would fit into.
  init(ucs2 text: String) { self.init(text: text, encoding: .ucs2, units: text.utf16.count) }

  /// A text in GSM 7 bit with national tables; nil when they do not have all its characters.
  init?(_ text: String, _ shift: NationalShift) {
    guard let tables = SeptetTables.national[shift], let units = Self.septets(of: text, tables.septets)
    else { return nil }
    self.init(text: text, encoding: .gsm7, shift: shift, units: units)
  }

  private init(text: String, encoding: SMSEncoding, shift: NationalShift? = nil, units: Int) {
    self.text = text
    self.encoding = encoding
    self.shift = shift
    self.units = units
    let fitsOne = units <= shift?.singleLimit ?? encoding.singleLimit
    self.segments = fitsOne ? 1 : Self.packer(encoding, shift).pack(text).count
  }

  /// The most units of each part of a text in several segments.
  public var partLimit: Int { shift?.partLimit ?? encoding.partLimit }

  /// The texts of the segments, in order. Joined they are `text` again.
  public func parts() -> [String] {
    segments == 1 ? [text] : Self.packer(encoding, shift).pack(text).map { String(text[$0]) }
  }

  /// One of `parts`, encoded: in GSM 7 bit one septet in each octet, as SMPP has it; in UCS-2 the octets of UTF-16, the
  /// higher first.
  public func octets(of part: String) -> [UInt8] {
    switch encoding {
    case .gsm7:
      let tables = shift.flatMap { SeptetTables.national[$0] } ?? .standard
      return part.unicodeScalars.flatMap(tables.codes)
    case .ucs2:
      return part.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
  }

  private static func packer(_ encoding: SMSEncoding, _ shift: NationalShift?) -> SegmentPacker {
    let limit = shift?.partLimit ?? encoding.partLimit
    switch encoding {
    case .gsm7:
      guard let tables = shift.flatMap({ SeptetTables.national[$0] }) else {
        return SegmentPacker(limit: limit, units: GSMAlphabet.septets)
      }
      return SegmentPacker(limit: limit, units: tables.septets)
    case .ucs2:
      return SegmentPacker(limit: limit, units: UTF16.width)
    }
  }

  /// The septets of a text, or nil when one of its characters is not in the alphabet.
  private static func septets(of text: String, _ count: (Unicode.Scalar) -> Int) -> Int? {
    var sum = 0
    for scalar in text.unicodeScalars {
      let septets = count(scalar)
      if septets == 0 { return nil }
      sum += septets
    }
    return sum
  }

  /// The same text in scalars of the GSM alphabet, or nil when one of its characters has none.
  private static func composed(_ text: String) -> String? {
    var scalars = String.UnicodeScalarView()
    for character in text {
      if character == "\r\n" {
        scalars.append(contentsOf: "\r\n".unicodeScalars)
      } else if let scalar = GSMAlphabet.precomposed(character) {
        scalars.append(scalar)
      } else {
        return nil
      }
    }
    return String(scalars)
  }
}
