/// The national language tables that a text in GSM 7 bit is written with, for all its segments.
///
/// A phone without the table shows wrong characters, so none is used unless a lane allows it.
public struct NationalShift: Sendable, Hashable {
  /// The language whose table takes the place of the default alphabet.
  public let locking: NationalLanguage?
  /// The language whose table takes the place of the extension table.
  public let single: NationalLanguage?

  /// What the header of each segment has to say of it (3GPP TS 23.040, 9.2.3.24.15 and 9.2.3.24.16): information elements,
  /// without the length of the header.
  public var informationElements: [UInt8] {
    (single.map { [0x24, 1, $0.rawValue] } ?? []) + (locking.map { [0x25, 1, $0.rawValue] } ?? [])
  }

  /// The language, where both tables are of one, as they are here.
  public var language: NationalLanguage? { locking ?? single }

  /// The septets of a message that is sent alone: its 140 octets less the header, in whole septets.
  var singleLimit: Int { Self.septets(besides: 1 + informationElements.count) }

  /// The septets of each part of a longer message, whose header has 5 octets more (3GPP TS 23.040, 9.2.3.24.1).
  var partLimit: Int { Self.septets(besides: 6 + informationElements.count) }

  private static func septets(besides octets: Int) -> Int { (140 - octets) * 8 / 7 }

  /// All that are tried, those with the shorter header first.
  static let all: [NationalShift] =
    NationalLanguage.allCases.map { NationalShift(locking: nil, single: $0) }
    + languagesThatLock.map { NationalShift(locking: $0, single: nil) }
    + languagesThatLock.map { NationalShift(locking: $0, single: $0) }

  private static let languagesThatLock = NationalLanguage.allCases.filter { NationalTables.locking($0) != nil }
}
