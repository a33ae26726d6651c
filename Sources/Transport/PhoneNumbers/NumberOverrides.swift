/// Facts that are younger than the metadata of libphonenumber on the machine: data, in `Config/number-overrides.json5`,
/// with the day on which it was made.
///
/// It declares only unknown numbers mobile. It may declare any number chargeable or impossible, so it never lets a
/// premium number through.
public struct NumberOverrides: Sendable, Hashable {
  /// The day on which the table was made, `2026-11-21`. Nil for an empty one.
  public let date: String?
  /// In ascending order, none within another.
  private let ranges: [Range]
  private let goneLengths: [Int: Set<Int>]

  private struct Range: Sendable, Hashable {
    /// Numbers in E.164, without the plus.
    let numbers: ClosedRange<UInt64>
    let region: String
    let type: NumberType
  }

  /// Maximum number of ranges in a table.
  public static let maxRanges = 50_000

  /// Types of number that cost the caller, share revenue with the owner or are not telephones: they override the
  /// library.
  public static let pricedTypes: Set<NumberType> = [
    .premiumRate, .sharedCost, .tollFree, .pager, .uan, .voicemail, .personal,
  ]

  /// An empty table: the library decides alone.
  public static let none = NumberOverrides(date: nil, ranges: [], goneLengths: [:])

  private init(date: String?, ranges: [Range], goneLengths: [Int: Set<Int>]) {
    self.date = date
    self.ranges = ranges
    self.goneLengths = goneLengths
  }

  /// Number of ranges.
  public var count: Int { ranges.count }

  func isGone(length: Int, countryCode: Int) -> Bool { goneLengths[countryCode]?.contains(length) == true }

  /// The table's type for a number in E.164. `nil` if it has none.
  public func find(_ e164: String) -> (region: String, type: NumberType)? {
    guard !ranges.isEmpty, let value = UInt64(e164.dropFirst()) else { return nil }
    // The last range that begins at the number or below it.
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].numbers.lowerBound <= value { low = middle + 1 } else { high = middle }
    }
    guard low > 0, ranges[low - 1].numbers.contains(value) else { return nil }
    return (ranges[low - 1].region, ranges[low - 1].type)
  }
}

extension NumberOverrides: Decodable {
  private struct File: Decodable {
    let date: String
    let source: String
    let ranges: [Entry]
    /// Absent in tables made before there was this part.
    let goneLengths: [Lengths]?
  }

  private struct Lengths: Decodable {
    let countryCode: Int
    let lengths: [Int]
  }

  private struct Entry: Decodable {
    let region: String
    let countryCode: Int
    let type: String
    let length: Int
    let prefixes: [String]
  }

  public init(from decoder: any Decoder) throws {
    let file = try File(from: decoder)
    var ranges: [Range] = []
    for entry in file.ranges {
      guard let more = Self.ranges(of: entry) else {
        throw Self.error(decoder, "the entry of \(entry.region), +\(entry.countryCode), is not well-formed")
      }
      ranges += more
      guard ranges.count <= Self.maxRanges else {
        throw Self.error(decoder, "has more than \(Self.maxRanges) prefixes")
      }
    }
    ranges.sort { $0.numbers.lowerBound < $1.numbers.lowerBound }
    for (one, next) in zip(ranges, ranges.dropFirst()) where one.numbers.overlaps(next.numbers) {
      throw Self.error(decoder, "+\(next.numbers.lowerBound) is in two ranges")
    }
    let gone = (file.goneLengths ?? []).map { ($0.countryCode, Set($0.lengths)) }
    self.init(date: file.date, ranges: ranges, goneLengths: Dictionary(gone, uniquingKeysWith: { $0.union($1) }))
  }

  private static func error(_ decoder: any Decoder, _ text: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: decoder.codingPath, debugDescription: text))
  }

  private static func ranges(of entry: Entry) -> [Range]? {
    let code = String(entry.countryCode)
    // E.164: fifteen digits in all.
    guard let type = NumberType(rawValue: entry.type), mayStand(type, region: entry.region),
      (1...999).contains(entry.countryCode), (4...15 - code.count).contains(entry.length)
    else { return nil }
    var ranges: [Range] = []
    for prefix in entry.prefixes {
      let rest = entry.length - prefix.utf8.count
      guard !prefix.isEmpty, rest >= 0, let begin = UInt64(code + prefix) else { return nil }
      let size = (0..<rest).reduce(UInt64(1)) { size, _ in size * 10 }
      ranges.append(Range(numbers: begin * size...begin * size + size - 1, region: entry.region, type: type))
    }
    return ranges
  }

  /// Numbers of no country, of satellites most of all, are never made mobile: their messages are the dearest.
  private static func mayStand(_ type: NumberType, region: String) -> Bool {
    if pricedTypes.contains(type) { return region.utf8.count == 2 || region == PhoneNumber.noCountry }
    return region.utf8.count == 2 && (type == .mobile || type == .fixedLineOrMobile)
  }
}

extension PhoneNumber {
  /// Name that libphonenumber gives to the region of country codes that belong to no country.
  static let noCountry = "001"

  /// The number as the table says, else as it is. The lengths of a country grow, too: a number of the table's ranges is
  /// possible, whatever the library says, and one of a length that is gone is not.
  public func applying(_ overrides: NumberOverrides) -> PhoneNumber {
    if let found = overrides.find(e164), type == .unknown || NumberOverrides.pricedTypes.contains(found.type) {
      return PhoneNumber(self, region: found.region, type: found.type, possibility: .possible)
    }
    let length = e164.utf8.count - 1 - String(countryCode).utf8.count
    guard overrides.isGone(length: length, countryCode: countryCode) else { return self }
    return PhoneNumber(self, region: nil, type: .unknown, possibility: .invalidLength)
  }
}
