import PhoneNumbers
import Testing

@Suite struct PhoneNumberTests {
  @Test(
    arguments: [
      ("+14155550123", "+1415•••••23"), ("+442079460958", "+4420••••••58"), ("+33612345678", "+3361•••••78"),
      ("+491771712345678", "+4917•••••••••78"), ("+298211234", "+2982•••34"), ("+29052158", "+29••••••"),
      ("+49301", "+49•••"),
    ])
  func `A phone number is masked when printed`(text: String, redacted: String) throws {
    let number = try PhoneNumber.parse(text)
    #expect(number.redacted == redacted)
    var dumped = ""
    dump(number, to: &dumped)
    for shown in [number.redacted, "\(number)", String(reflecting: number), dumped] {
      #expect(shown.contains("•"))
      #expect(!shown.contains(text))
      #expect(!shown.contains(text.dropFirst(3)))
    }
  }

  @Test func `Equality is that of the number`() throws {
    let one = try PhoneNumber.parse("+14155550123")
    let same = try PhoneNumber.parse("(415) 555-0123", region: "US")
    let other = try PhoneNumber.parse("+14155550124")
    #expect(one == same)
    #expect(Set([one, same, other]).count == 2)
  }

  @Test func `The main region of a country code`() throws {
    #expect(try PhoneNumber.parse("+14165550123").countryCodeRegion == "US")
    #expect(try PhoneNumber.parse("+77012345678").countryCodeRegion == "RU")
    #expect(try PhoneNumber.parse("+80012345678").countryCodeRegion == "001")
  }

  @Test(
    arguments: [
      ("+14155550123", true), ("+2901234", true), ("+123456789012345", true), ("+1234567890123456", false),
      ("+123456", false),
      ("14155550123", false), ("+04155550123", false), ("+1415555012a", false), ("+1 4155550123", false), ("", false),
      ("+", false),
      ("+١٢٣٤٥٦٧٨٩", false),
    ])
  func `Has the form of E164`(text: String, expected: Bool) {
    #expect(PhoneNumber.isE164(text) == expected)
  }

  /// The quick test says what the thorough one says of numbers in their canonical form.
  @Test(
    arguments: ParseTests.valid.map(\.e164) + [
      "+1415555", "+14155550123456", "+65123456789", "+15555550123", "+39021234567",
    ])
  func `Possibility of E164`(text: String) throws {
    guard PhoneNumber.isE164(text) else { return }
    #expect(try PhoneNumber.possibility(ofE164: text) == PhoneNumber.parse(text).possibility)
  }

  /// Of numbers that are zeros alone the library makes longer ones: what it says of them is not kept for others of their length.
  @Test func `Numbers of one length are alike but for zeros`() throws {
    for digits in 4...11 {
      let zeros = "+39" + String(repeating: "0", count: digits)
      let others = ["1", "3", "09"].map { "+39" + $0 + String(repeating: "1", count: digits - $0.utf8.count) }
      _ = try PhoneNumber.possibility(ofE164: zeros)
      let possibilities = try Set(others.map { try PhoneNumber.possibility(ofE164: $0) })
      #expect(possibilities.count == 1)
      #expect(try PhoneNumber.possibility(ofE164: zeros) == PhoneNumber.possibility(ofE164: zeros))
    }
    #expect(try PhoneNumber.possibility(ofE164: "+3900") == nil)
    #expect(try PhoneNumber.possibility(ofE164: "+3911111") == .tooShort)
    #expect(try PhoneNumber.possibility(ofE164: "+39111111") == .possible)
  }

  @Test(
    arguments: [
      ("+99912345678", Possibility.invalidCountryCode), ("+2101234567", .invalidCountryCode), ("+390000000", .possible),
      ("4155550123", nil), ("+1 4155550123", nil), ("", nil),
    ] as [(String, Possibility?)])
  func `Possibility of others`(text: String, possibility: Possibility?) throws {
    #expect(try PhoneNumber.possibility(ofE164: text) == possibility)
  }

}
