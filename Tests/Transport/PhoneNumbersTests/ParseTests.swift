import PhoneNumbers
import TestSupport
import Testing

struct Expectation: Sendable {
  let text: String
  let region: String?
  let e164: String
  let type: NumberType
  let found: String?

  init(_ text: String, in region: String? = nil, _ e164: String, _ type: NumberType, _ found: String?) {
    self.text = text
    self.region = region
    self.e164 = e164
    self.type = type
    self.found = found
  }
}

@Suite struct ParseTests {
  static let valid: [Expectation] = [
    // E.164, and the ways people write it.
    Expectation("+14155550123", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("+1 (415) 555-0123", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("  +1.415.555.0123 ", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("+1/415/555-0123", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("\u{FF0B}1 415\u{2011}555\u{2013}0123", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("\u{202A}+1\u{A0}415\u{A0}555\u{A0}0123\u{202C}", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("+٩٦٦٥٠١٢٣٤٥٦٧", "+966501234567", .mobile, "SA"),
    Expectation("+۹۸۹۱۲۱۲۳۴۵۶۷", "+989121234567", .mobile, "IR"),
    Expectation("+९१९८७६५४३२१०", "+919876543210", .mobile, "IN"),
    Expectation("\u{FF0B}８１９０１２３４５６７８", "+819012345678", .mobile, "JP"),
    Expectation("+16505553434", "+16505553434", .fixedLineOrMobile, "US"),
    Expectation("+16505554567", "+16505554567", .fixedLineOrMobile, "US"),
    // National, with a region.
    Expectation("(415) 555-0123", in: "US", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("4155550123", in: "us", "+14155550123", .fixedLineOrMobile, "US"),
    Expectation("07400 123456", in: "GB", "+447400123456", .mobile, "GB"),
    Expectation("0151 23456789", in: "DE", "+4915123456789", .mobile, "DE"),
    Expectation("06 12 34 56 78", in: "FR", "+33612345678", .mobile, "FR"),
    Expectation("٠٥٠١٢٣٤٥٦٧", in: "SA", "+966501234567", .mobile, "SA"),
    Expectation("090-1234-5678", in: "JP", "+819012345678", .mobile, "JP"),
    Expectation("(11) 96123-4567", in: "BR", "+5511961234567", .mobile, "BR"),
    Expectation("312 345 6789", in: "IT", "+393123456789", .mobile, "IT"),
    // With the prefix for international calls of the region.
    Expectation("00 44 7400 123456", in: "DE", "+447400123456", .mobile, "GB"),
    Expectation("011 44 7400 123456", in: "US", "+447400123456", .mobile, "GB"),
    // A country code wins over the region.
    Expectation("+447400123456", in: "US", "+447400123456", .mobile, "GB"),
    // Mobile, around the world.
    Expectation("+14165550123", "+14165550123", .fixedLineOrMobile, "CA"),
    Expectation("+525512345678", "+525512345678", .fixedLineOrMobile, "MX"),
    Expectation("+5491123456789", "+5491123456789", .mobile, "AR"),
    Expectation("+4915123456789", "+4915123456789", .mobile, "DE"),
    Expectation("+34612345678", "+34612345678", .mobile, "ES"),
    Expectation("+351912345678", "+351912345678", .mobile, "PT"),
    Expectation("+31612345678", "+31612345678", .mobile, "NL"),
    Expectation("+41781234567", "+41781234567", .mobile, "CH"),
    Expectation("+48512345678", "+48512345678", .mobile, "PL"),
    Expectation("+905012345678", "+905012345678", .mobile, "TR"),
    Expectation("+79123456789", "+79123456789", .mobile, "RU"),
    Expectation("+380501234567", "+380501234567", .mobile, "UA"),
    Expectation("+971501234567", "+971501234567", .mobile, "AE"),
    Expectation("+201001234567", "+201001234567", .mobile, "EG"),
    Expectation("+2348021234567", "+2348021234567", .mobile, "NG"),
    Expectation("+254712123456", "+254712123456", .mobile, "KE"),
    Expectation("+27711234567", "+27711234567", .mobile, "ZA"),
    Expectation("+8801812345678", "+8801812345678", .mobile, "BD"),
    Expectation("+923012345678", "+923012345678", .mobile, "PK"),
    Expectation("+8613123456789", "+8613123456789", .mobile, "CN"),
    Expectation("+821020000000", "+821020000000", .mobile, "KR"),
    Expectation("+6281234567890", "+6281234567890", .mobile, "ID"),
    Expectation("+84912345678", "+84912345678", .mobile, "VN"),
    Expectation("+639051234567", "+639051234567", .mobile, "PH"),
    Expectation("+61412345678", "+61412345678", .mobile, "AU"),
    Expectation("+64211234567", "+64211234567", .mobile, "NZ"),
    // Landline; Italy keeps its leading zero.
    Expectation("+442079460958", "+442079460958", .fixedLine, "GB"),
    Expectation("020 7946 0958", in: "GB", "+442079460958", .fixedLine, "GB"),
    Expectation("+4930123456", "+4930123456", .fixedLine, "DE"),
    Expectation("+33123456789", "+33123456789", .fixedLine, "FR"),
    Expectation("+39 02 1234 5678", "+390212345678", .fixedLine, "IT"),
    // What no code is sent to.
    Expectation("+18002345678", "+18002345678", .tollFree, "US"),
    Expectation("+448001234567", "+448001234567", .tollFree, "GB"),
    Expectation("+80012345678", "+80012345678", .tollFree, "001"),
    Expectation("+19002345678", "+19002345678", .premiumRate, "US"),
    Expectation("+449091234567", "+449091234567", .premiumRate, "GB"),
    Expectation("+33891123456", "+33891123456", .premiumRate, "FR"),
    Expectation("+33899123456", "+33899123456", .premiumRate, "FR"),
    Expectation("+499001234567", "+499001234567", .premiumRate, "DE"),
    Expectation("+448431234567", "+448431234567", .premiumRate, "GB"),
    Expectation("+491801234567", "+491801234567", .sharedCost, "DE"),
    Expectation("+33820123456", "+33820123456", .sharedCost, "FR"),
    Expectation("+447640123456", "+447640123456", .pager, "GB"),
    Expectation("+49164123456", "+49164123456", .pager, "DE"),
    Expectation("+445612345678", "+445612345678", .voip, "GB"),
    Expectation("+33912345678", "+33912345678", .voip, "FR"),
    Expectation("+447012345678", "+447012345678", .personal, "GB"),
    Expectation("+15002345678", "+15002345678", .personal, "US"),
    Expectation("+443031234567", "+443031234567", .uan, "GB"),
    Expectation("+491779912345678", "+491779912345678", .voicemail, "DE"),
    // Numbers of no country.
    Expectation("+883510012345678", "+883510012345678", .voip, "001"),
    Expectation("+870301234567", "+870301234567", .mobile, "001"),
  ]

  @Test(arguments: valid)
  func `Numbers are parsed to E164`(expectation: Expectation) throws {
    let number = try PhoneNumber.parse(expectation.text, region: expectation.region)
    #expect(number.e164 == expectation.e164)
    #expect(number.type == expectation.type)
    #expect(number.region == expectation.found)
    #expect(number.isValid == (expectation.type != .unknown))
    #expect(number.isPossible)
    #expect(number.e164.hasPrefix("+\(number.countryCode)"))
    // The form that is stored parses to the same.
    let again = try PhoneNumber.parse(number.e164)
    #expect(again == number)
    #expect(again.type == number.type)
  }

  @Test(
    arguments: [
      ("+1415555", nil, Possibility.tooShort), ("555-0123", "US", .localOnly), ("+14155550123456", nil, .tooLong),
      ("+49 30 1", nil, .localOnly), ("+65123456789", nil, .invalidLength), ("+15555550123", nil, .possible),
    ] as [(String, String?, Possibility)])
  func `Tells what is impossible`(text: String, region: String?, possibility: Possibility) throws {
    let number = try PhoneNumber.parse(text, region: region)
    #expect(number.possibility == possibility)
    #expect(number.isPossible == (possibility == .possible))
    #expect(!number.isValid)
    #expect(number.type == .unknown)
    // Enough to know whose budget it is.
    #expect(number.countryCodeRegion != nil)
  }

  @Test(
    arguments: [
      ("", nil, .notANumber), (" ", nil, .notANumber), ("+", nil, .notANumber), ("hello", nil, .notANumber),
      ("hello", "US", .notANumber),
      ("++", "US", .notANumber), ("\u{0}", nil, .notANumber), ("+1415555\u{0}0123", nil, .notANumber),
      ("📞", "US", .notANumber),
      ("call +14155550123", nil, .notANumber), ("+14155550123 please", nil, .notANumber),
      ("1-800-FLOWERS", "US", .notANumber), ("+1415555O123", nil, .notANumber), ("+14155550123\n", nil, .notANumber),
      ("+1415555012'; DROP TABLE", nil, .notANumber), ("<+14155550123>", nil, .notANumber),
      ("4155550123", nil, .missingRegion), ("0151 23456789", nil, .missingRegion),
      ("00447400123456", nil, .missingRegion),
      ("4155550123", "XX", .unknownRegion), ("4155550123", "UK", .unknownRegion), ("4155550123", "", .unknownRegion),
      ("4155550123", "USA", .unknownRegion), ("+14155550123", "ZZ", .unknownRegion),
      ("4155550123", "日本", .unknownRegion),
      ("+99912345678", nil, .invalidCountryCode), ("+0123456789", nil, .invalidCountryCode),
      ("+2101234567", nil, .invalidCountryCode),
      ("+1", nil, .notANumber), ("+12", nil, .notANumber), ("1", "US", .notANumber), ("+491", nil, .tooShort),
      ("+1234567890123456789012", nil, .tooLong), (String(repeating: "1", count: 250), "US", .tooLong),
      ("+" + String(repeating: "1", count: 250), nil, .tooLong), (String(repeating: " ", count: 251), nil, .tooLong),
      ("+1 415 555 0123 ext. 5", nil, .hasExtension), ("+14155550123x5", nil, .hasExtension),
      ("+14155550123#5", nil, .hasExtension),
      ("+14155550123;ext=5", nil, .hasExtension), ("(415) 555-0123 доб. 5", "US", .hasExtension),
    ] as [(String, String?, PhoneNumberError.Code)])
  func `Texts that are not numbers are refused`(text: String, region: String?, code: PhoneNumberError.Code) {
    let error = #expect(throws: PhoneNumberError.self) { try PhoneNumber.parse(text, region: region) }
    #expect(error?.code == code)
    #expect(error?.isRetriable == false)
    #expect(error?.description.contains("4155550123") == false)
  }

  /// Digits behind a plus are read in a shorter way than what is written with spaces, and come out the same.
  @Test(
    arguments: [
      1, 7, 20, 27, 30, 31, 32, 33, 34, 39, 41, 43, 44, 45, 46, 47, 48, 49, 52, 54, 55, 57, 60, 61, 62, 63, 65, 66, 81,
      82, 84, 86, 90, 91, 92,
      225, 351, 383, 800, 972,
    ])
  func `Spaces make no difference`(countryCode: Int) throws {
    var random = SplitMix(state: UInt64(countryCode))
    for length in 5...13 {
      for _ in 0..<60 {
        let national = (0..<length).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
        let plain = try? PhoneNumber.parse("+\(countryCode)\(national)")
        let spaced = try? PhoneNumber.parse("+\(countryCode) \(national)")
        #expect(plain?.e164 == spaced?.e164)
        #expect(plain?.type == spaced?.type, "\(countryCode) \(national)")
        #expect(plain?.region == spaced?.region, "\(countryCode) \(national)")
        #expect(plain?.possibility == spaced?.possibility, "\(countryCode) \(national)")
      }
    }
  }

  @Test func `Threads share the library`() async throws {
    let wrong = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          (0..<200).reduce(0) { wrong, index in
            let text = "+1415555\(1000 + (task * 200 + index) % 9000)"
            return wrong + ((try? PhoneNumber.parse(text))?.e164 == text ? 0 : 1)
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }
}
