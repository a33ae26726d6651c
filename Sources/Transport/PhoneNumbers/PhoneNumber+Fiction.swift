extension PhoneNumber {
  /// Whether the number is in a range that its numbering plan reserves for films, books and examples, so that it has no
  /// owner.
  ///
  /// Not all plans have such ranges: false does not prove that the number has an owner.
  public var isReservedForFiction: Bool {
    guard let value = UInt64(e164.dropFirst()) else { return false }
    return countryCode == 1 ? Self.isNorthAmericanFiction(value) : FictionalRanges.contains(value)
  }

  /// 555-0100 to 555-0199 in every area of the North American Numbering Plan; of the toll-free ones, 800-555-0199 only.
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
