extension PhoneNumber {
  /// Whether the number is in a range that its numbering plan reserves for films, books and examples, so that it has no
  /// owner.
  ///
  /// Not all plans have such ranges: false does not prove that the number has an owner.
  public var isReservedForFiction: Bool {
    guard let value = UInt64(e164.dropFirst()) else { return false }
    return countryCode == 1 ? Self.isNorthAmericanFiction(value) : FictionalRanges.contains(value)
  }

  /// 555-0100 to 555-0199 in every area of the North American Numbering Plan. Of the toll-free ones, 800-555-0199 only.
  /// (ATIS-0300115, "555 NXX Line Number Assignment Guidelines", and NANPA, "555 Line Numbers".)
  private static func isNorthAmericanFiction(_ value: UInt64) -> Bool {
    let area = value / 10_000_000 % 1000
    let line = value % 10_000_000
    switch area {
    case 800: return line == 555_0199
    case 833, 844, 855, 866, 877, 888: return false
    default: return (555_0100...555_0199).contains(line)
    }
  }
}

/// Ranges that numbering plans keep for fiction, as E.164 without the plus. North America's are a rule, not a range.
enum FictionalRanges {
  static func contains(_ value: UInt64) -> Bool {
    ranges.contains { $0.contains(value) }
  }

  private static let ranges = unitedKingdom + ireland + france + germany + sweden + australia

  /// Ofcom, "Telephone numbers for use in TV and radio drama programmes".
  private static let unitedKingdom: [ClosedRange<UInt64>] = [
    44_113_496_0000...44_113_496_0999,  // Leeds
    44_114_496_0000...44_114_496_0999,  // Sheffield
    44_115_496_0000...44_115_496_0999,  // Nottingham
    44_116_496_0000...44_116_496_0999,  // Leicester
    44_117_496_0000...44_117_496_0999,  // Bristol
    44_118_496_0000...44_118_496_0999,  // Reading
    44_121_496_0000...44_121_496_0999,  // Birmingham
    44_131_496_0000...44_131_496_0999,  // Edinburgh
    44_141_496_0000...44_141_496_0999,  // Glasgow
    44_151_496_0000...44_151_496_0999,  // Liverpool
    44_161_496_0000...44_161_496_0999,  // Manchester
    44_191_498_0000...44_191_498_0999,  // Tyneside, Durham, Sunderland
    44_20_7946_0000...44_20_7946_0999,  // London
    44_28_9649_6000...44_28_9649_6999,  // Northern Ireland
    44_29_2018_0000...44_29_2018_0999,  // Cardiff
    44_1632_960_000...44_1632_960_999,  // no place in particular
    44_3069_990_000...44_3069_990_999,  // all of the country
    44_7700_900_000...44_7700_900_999,  // mobile
    44_8081_570_000...44_8081_570_999,  // freephone
    44_909_879_0000...44_909_879_0999,  // premium rate
  ]

  /// ComReg, Numbering Conditions of Use and Application Process: 020 91 for drama.
  private static let ireland: [ClosedRange<UInt64>] = [353_20_910_0000...353_20_919_9999]

  /// Arcep, décision n° 2018-0881 establishing the national numbering plan: numbers for audiovisual works.
  private static let france: [ClosedRange<UInt64>] = [
    33_1_99_00_00_00...33_1_99_00_99_99,
    33_2_61_91_00_00...33_2_61_91_99_99,
    33_3_53_01_00_00...33_3_53_01_99_99,
    33_4_65_71_00_00...33_4_65_71_99_99,
    33_5_36_49_00_00...33_5_36_49_99_99,
    33_6_39_98_00_00...33_6_39_98_99_99,
  ]

  /// Bundesnetzagentur, Mitteilung Nr. 148/2021, Amtsblatt 7/2021: "Rufnummern für Medienproduktionen (Drama Numbers)".
  private static let germany: [ClosedRange<UInt64>] = [
    49_30_23125_000...49_30_23125_999,  // Berlin
    49_40_66969_000...49_40_66969_999,  // Hamburg
    49_69_90009_000...49_69_90009_999,  // Frankfurt am Main
    49_89_99998_000...49_89_99998_999,  // Munich
    49_221_4710_000...49_221_4710_999,  // Cologne
    49_171_39200_00...49_171_39200_99,
    49_176_040690_00...49_176_040690_99,
    single(49_152_28817386), single(49_152_28895456), single(49_152_54599371),
    single(49_172_9925904), single(49_172_9968532), single(49_172_9973185), single(49_172_9973186),
    single(49_172_9980752),
    single(49_174_9091317), single(49_174_9464308),
  ]

  /// Post- och telestyrelsen (PTS), "Telefonnummer för användning i böcker och filmer", 2020.
  private static let sweden: [ClosedRange<UInt64>] = [
    46_8_465_004_00...46_8_465_004_99,  // Stockholm
    46_31_390_06_00...46_31_390_06_99,  // Gothenburg
    46_40_628_04_00...46_40_628_04_99,  // Malmö
    46_980_319_200...46_980_319_299,  // Kiruna
    46_70_174_06_05...46_70_174_06_99,  // mobile
  ]

  /// ACMA, "Choose a phone number for your creative work".
  private static let australia: [ClosedRange<UInt64>] =
    [2, 3, 7, 8].flatMap { (area: UInt64) -> [ClosedRange<UInt64>] in
      let start = (610 + area) * 1_0000_0000
      return [start + 5550_0000...start + 5550_9999, start + 7010_0000...start + 7010_9999]
    } + [
      61_1800_975_707...61_1800_975_711, single(61_1800_160_401), 61_1300_975_707...61_1300_975_711,
    ] + australianMobiles.map { single(61_491_570_000 + $0) }

  /// The ends of 0491 57x xxx.
  private static let australianMobiles: [UInt64] = [
    0006, 0156, 0157, 0158, 0159, 0110, 0313, 0737, 1266, 1491, 1804, 2549, 2665, 2983, 3770, 3087, 4118, 4632, 5254,
    5789, 6398, 6801,
    7426, 7644, 8957, 8148, 8888, 9212, 9760, 9455,
  ]

  private static func single(_ value: UInt64) -> ClosedRange<UInt64> { value...value }
}
