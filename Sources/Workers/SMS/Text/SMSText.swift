/// Text of an SMS with its encoding, units and segments.
///
/// GSM 7 bit is used if it has every character, else UCS-2. Characters that are only spelled differently from the
/// alphabet (a letter and a combining accent, the ångström sign) are composed first, which keeps the text in GSM 7 bit
/// at no cost.
public struct SMSText: Sendable, Hashable {
  /// Text for the provider, canonically equivalent to the one that was given.
  public let text: String
  public let encoding: SMSEncoding
  /// National tables of the encoding. `nil` for the default alphabet and for UCS-2.
  public let shift: NationalShift?
  /// Length of the whole text: septets in GSM 7 bit, code units in UCS-2.
  public let units: Int
  /// Number of segments. An empty text takes one.
  public let segments: Int

  /// - Parameter text: any text. The caller limits its length.
  public init(_ text: String) {
    if let units = Self.septets(of: text, GSMAlphabet.septets) {
      self.init(text: text, encoding: .gsm7, units: units)
    } else if let composed = Self.composed(text), let units = Self.septets(of: composed, GSMAlphabet.septets) {
      self.init(text: composed, encoding: .gsm7, units: units)
    } else {
      self.init(text: text, encoding: .ucs2, units: text.utf16.count)
    }
  }

  /// Makes a text in UCS-2, even if it fits into GSM 7 bit.
  init(ucs2 text: String) { self.init(text: text, encoding: .ucs2, units: text.utf16.count) }

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

  /// Maximum number of units of each part of a text in several segments.
  public var partLimit: Int { shift?.partLimit ?? encoding.partLimit }

  /// Texts of the segments, in order. Joined they are `text`.
  public func parts() -> [String] {
    segments == 1 ? [text] : Self.packer(encoding, shift).pack(text).map { String(text[$0]) }
  }

  /// Octets of one of `parts`: in GSM 7 bit one septet in each octet, as in SMPP. In UCS-2 those of UTF-16, big-endian.
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

  private static func septets(of text: String, _ count: (Unicode.Scalar) -> Int) -> Int? {
    var sum = 0
    for scalar in text.unicodeScalars {
      let septets = count(scalar)
      if septets == 0 { return nil }
      sum += septets
    }
    return sum
  }

  /// The same text in scalars of the GSM alphabet, or `nil` if one of its characters is not in it.
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

/// Encoding of an SMS's characters in its 140 octets.
public enum SMSEncoding: String, Sendable, Hashable, CaseIterable {
  /// The GSM 7 bit default alphabet with its extension table (3GPP TS 23.038, 6.2.1 and 6.2.1.1). One unit is a septet.
  case gsm7

  /// UCS-2, in practice UTF-16 (3GPP TS 23.038, 6.2.3). One unit is a 16 bit code unit.
  case ucs2

  /// Units of a message that is sent alone.
  public var singleLimit: Int {
    switch self {
    case .gsm7: 160
    case .ucs2: 70
    }
  }

  /// Units of each part of a longer message, without the 6 octets of the concatenation header (3GPP TS 23.040,
  /// 9.2.3.24.1).
  public var partLimit: Int {
    switch self {
    case .gsm7: 153
    case .ucs2: 67
    }
  }
}
