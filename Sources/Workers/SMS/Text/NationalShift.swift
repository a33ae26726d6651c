/// National language tables that all segments of a text in GSM 7 bit are written with.
///
/// A phone without the table shows wrong characters, so tables are used only if a lane allows them.
public struct NationalShift: Sendable, Hashable {
  /// Language whose table replaces the default alphabet.
  public let locking: NationalLanguage?
  /// Language whose table replaces the extension table.
  public let single: NationalLanguage?

  /// Information elements for the header of each segment (3GPP TS 23.040, 9.2.3.24.15 and 9.2.3.24.16), without the
  /// length of the header.
  public var informationElements: [UInt8] {
    (single.map { [0x24, 1, $0.rawValue] } ?? []) + (locking.map { [0x25, 1, $0.rawValue] } ?? [])
  }

  /// Language of the tables. Both are of the same one here.
  public var language: NationalLanguage? { locking ?? single }

  /// Number of septets of a message that is sent alone: 140 octets less the header, in whole septets.
  var singleLimit: Int { Self.septets(besides: 1 + informationElements.count) }

  /// Number of septets of each part of a longer message, whose header has 5 octets more (3GPP TS 23.040, 9.2.3.24.1).
  var partLimit: Int { Self.septets(besides: 6 + informationElements.count) }

  private static func septets(besides octets: Int) -> Int { (140 - octets) * 8 / 7 }

  /// Those with the shorter header first.
  static let all: [NationalShift] =
    NationalLanguage.allCases.map { NationalShift(locking: nil, single: $0) }
    + languagesThatLock.map { NationalShift(locking: $0, single: nil) }
    + languagesThatLock.map { NationalShift(locking: $0, single: $0) }

  private static let languagesThatLock = NationalLanguage.allCases.filter { NationalTables.locking($0) != nil }
}

/// A language with tables of its own for GSM 7 bit. The raw values are the identifiers in a message's header (3GPP TS
/// 23.038, 6.2.1.2.4).
public enum NationalLanguage: UInt8, Sendable, Hashable, CaseIterable {
  case turkish = 1
  case spanish, portuguese, bengali, gujarati, hindi, kannada, malayalam, oriya, punjabi, tamil, telugu, urdu
}
