/// Ranges of mobile numbers that are younger than the metadata of libphonenumber on the machine: data, in
/// `Config/number-overrides.json5`, with the day on which it was made.
///
/// It says something of numbers only that the library does not know; it never makes a premium number a mobile one.
public struct NumberOverrides: Sendable, Hashable {
  /// The day on which the table was made, `2026-11-21`; nil for an empty one.
  public let date: String?
  /// In ascending order, none within another.
  private let ranges: [Range]

  private struct Range: Sendable, Hashable {
    /// Numbers in E.164, without the plus.
    let numbers: ClosedRange<UInt64>
    let region: String
    let type: NumberType
  }

  /// The most ranges of a table.
  public static let maxRanges = 50_000

  /// No number is other than the library says.
  public static let none = NumberOverrides(date: nil, ranges: [])

  private init(date: String?, ranges: [Range]) {
    self.date = date
    self.ranges = ranges
  }

  /// How many ranges there are.
  public var count: Int { ranges.count }

  /// What the table says of a number in E.164; nil when it says nothing.
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
  /// The form of the file.
  private struct File: Decodable {
    let date: String
    let source: String
    let ranges: [Entry]
  }

  /// Numbers of a region that have so many digits behind the country code and begin with one of the prefixes.
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
    self.init(date: file.date, ranges: ranges)
  }

  private static func error(_ decoder: any Decoder, _ text: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: decoder.codingPath, debugDescription: text))
  }

  /// nil when a number, a prefix or the type is none that may stand here.
  private static func ranges(of entry: Entry) -> [Range]? {
    let code = String(entry.countryCode)
    // E.164: fifteen digits in all.
    guard let type = NumberType(rawValue: entry.type), type == .mobile || type == .fixedLineOrMobile,
      entry.region.utf8.count == 2, (1...999).contains(entry.countryCode), (4...15 - code.count).contains(entry.length)
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
}

extension PhoneNumber {
  /// The number as the table says, if the library does not know its range; else as it is. The lengths of a country grow, too: a
  /// number of the table is possible, whatever the library says.
  public func applying(_ overrides: NumberOverrides) -> PhoneNumber {
    guard type == .unknown, let found = overrides.find(e164) else { return self }
    return PhoneNumber(self, region: found.region, type: found.type)
  }
}
