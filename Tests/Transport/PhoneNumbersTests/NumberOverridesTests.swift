import FoundationEssentials
import TestSupport
import Testing

@testable import PhoneNumbers

@Suite struct NumberOverridesTests {
  private static func decode(_ json: String) throws -> NumberOverrides {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    return try decoder.decode(NumberOverrides.self, from: Data(json.utf8))
  }

  private static func table(_ ranges: String) throws -> NumberOverrides {
    try decode("{date: '2026-11-21', source: 'test', ranges: [\(ranges)]}")
  }

  private static let shipped = {
    return Result { try decode(String(contentsOfFile: Repository.config + "/number-overrides.json5", encoding: .utf8)) }
  }()

  private static let benin = #"{region: "BJ", countryCode: 229, type: "mobile", length: 10, prefixes: ["014", "0190"]}"#

  @Test(
    arguments: [
      ("+2290140000000", true), ("+2290149999999", true), ("+2290190000000", true), ("+2290190999999", true),
      ("+2290139999999", false), ("+2290150000000", false), ("+2290191000000", false), ("+2290189999999", false),
      ("+229014000000", false), ("+22901400000000", false), ("+14155550123", false), ("", false),
    ])
  func `A prefix is a range of one length`(number: String, isFound: Bool) throws {
    let found = try Self.table(Self.benin).find(number)
    #expect((found != nil) == isFound)
    if isFound {
      #expect(found?.region == "BJ")
      #expect(found?.type == .mobile)
    }
  }

  @Test func `An empty table says nothing`() throws {
    #expect(NumberOverrides.none.find("+2290140000000") == nil)
    #expect(NumberOverrides.none.date == nil)
    #expect(try Self.table("").count == 0)
    #expect(try Self.table("").date == "2026-11-21")
  }

  @Test(
    arguments: [
      #"{region: "001", countryCode: 881, type: "mobile", length: 10, prefixes: ["01"]}"#,
      #"{region: "BJ", countryCode: 229, type: "voip", length: 10, prefixes: ["01"]}"#,
      #"{region: "0001", countryCode: 881, type: "premiumRate", length: 10, prefixes: ["01"]}"#,
      #"{region: "BJ", countryCode: 229, type: "phone", length: 10, prefixes: ["01"]}"#,
      #"{region: "BEN", countryCode: 229, type: "mobile", length: 10, prefixes: ["01"]}"#,
      #"{region: "BJ", countryCode: 0, type: "mobile", length: 10, prefixes: ["01"]}"#,
      #"{region: "BJ", countryCode: 229, type: "mobile", length: 13, prefixes: ["01"]}"#,
      #"{region: "BJ", countryCode: 229, type: "mobile", length: 4, prefixes: ["01234"]}"#,
      #"{region: "BJ", countryCode: 229, type: "mobile", length: 10, prefixes: [""]}"#,
      #"{region: "BJ", countryCode: 229, type: "mobile", length: 10, prefixes: ["0x"]}"#,
      #"{region: "BJ", countryCode: 229, type: "mobile", length: 10, prefixes: ["01", "014"]}"#,
      #"{region: "BJ", countryCode: 229, type: "mobile", length: 10}"#,
    ])
  func `Malformed tables are refused`(range: String) {
    #expect(throws: DecodingError.self) { try Self.table(range) }
  }

  /// Numbers of ranges that came into use after the metadata of Debian 12 (8.12.57, of 2022).
  @Test(
    arguments: [
      ("+2290195123456", "BJ", .mobile), ("+41681234567", "CH", .mobile), ("+213601234567", "DZ", .mobile),
      ("+251712345678", "ET", .mobile), ("+2250704812345", "CI", .mobile),
    ] as [(String, String, NumberType)])
  func `The shipped table knows young numbers`(text: String, region: String, type: NumberType) throws {
    let overrides = try Self.shipped.get()
    let plain = try PhoneNumber.parse(text)
    let number = plain.applying(overrides)
    // A newer library knows them by itself, and then as the same.
    #expect(plain.type == .unknown || plain.type == type)
    #expect(number.type == type)
    #expect(number.region == region)
    #expect(number.isPossible)
    #expect(number.e164 == text)
    #expect(number == plain)
  }

  @Test(
    arguments: ["+14155550123", "+4915123456789", "+19002345678", "+449091234567", "+442079460958", "+33820123456"])
  func `Numbers known to the library stay`(text: String) throws {
    let number = try PhoneNumber.parse(text)
    let after = number.applying(try Self.shipped.get())
    #expect(after.type == number.type)
    #expect(after.region == number.region)
  }

  @Test func `The shipped table is dated`() throws {
    let overrides = try Self.shipped.get()
    #expect(overrides.date?.count == 10)
    #expect(overrides.count > 1000)
    // No satellite networks, whose calls cost most of all.
    #expect(overrides.find("+8816123456789") == nil)
  }

  @Test func `A priced type counts whatever the library says`() throws {
    let table = try Self.table(
      #"{region: "DE", countryCode: 49, type: "premiumRate", length: 11, prefixes: ["1512345"]}"#)
    let number = try PhoneNumber.parse("+4915123456789")
    #expect(number.type == .mobile)
    #expect(number.applying(table).type == .premiumRate)
  }

  @Test func `A length that is gone is impossible`() throws {
    let table = try Self.decode(
      "{date: '2026-11-22', source: 'test', ranges: [], goneLengths: [{countryCode: 49, lengths: [11]}]}")
    #expect(try PhoneNumber.parse("+4915123456789").isPossible)
    #expect(try !PhoneNumber.parse("+4915123456789").applying(table).isPossible)
    #expect(try PhoneNumber.parse("+491601234567").applying(table).isPossible)
    #expect(try PhoneNumber.parse("+14155550123").applying(table).isPossible)
  }

  /// Numbers that cost somebody, drawn by a fixed seed from libphonenumber's metadata of 2026 (9.0.43): parts of +590, +594, +248,
  /// +597, +973, +972 and others that the metadata of Debian 12 takes for possible numbers of no known use.
  @Test func `No priced number is taken for another`() throws {
    let overrides = try Self.shipped.get()
    let text = try String(contentsOfFile: Repository.fixtures + "/refused-numbers.txt", encoding: .utf8)
    let numbers = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
      $0.split(separator: " ").first
    }
    #expect(numbers.count > 4000)
    let accepted = numbers.filter { text in
      // What cannot be read is refused, too.
      guard let number = try? PhoneNumber.parse(String(text)).applying(overrides) else { return false }
      return number.isPossible && !NumberOverrides.pricedTypes.contains(number.type)
    }
    #expect(accepted == [])
  }

  /// Lengths that Mexico (2019), Zimbabwe and Benin (2024) gave up.
  @Test(
    arguments: [
      "+5239825979190", "+5274833788762", "+26386123", "+263861234", "+26380123", "+263801234",
      "+22997123456",
    ])
  func `No number of a length that is gone is possible`(text: String) throws {
    // What cannot be read is refused, too.
    guard let number = try? PhoneNumber.parse(text) else { return }
    #expect(!number.applying(try Self.shipped.get()).isPossible)
  }

  /// The library takes the 1 away that Mexico's mobile numbers had until 2019.
  @Test func `An old mexican mobile number is read`() throws {
    let number = try PhoneNumber.parse("+5215512345678").applying(try Self.shipped.get())
    #expect(number.e164 == "+525512345678")
    #expect(number.isPossible)
  }
}
