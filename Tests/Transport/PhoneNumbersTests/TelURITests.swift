import Testing

@testable import PhoneNumbers

@Suite struct TelURITests {
  @Test(
    arguments: [
      ("tel:+14155550123", nil), ("TEL:+14155550123", nil), ("Tel:+1-415-555-0123", nil), ("tel:+1.415.555.0123", nil),
      ("tel:+1(415)555-0123", nil), ("tel:+1 415 555 0123", nil), ("tel:+1-201-555-0123", "DE"),
      // The examples of the RFC, 3, and local numbers with the beginning of global ones.
      ("tel:4155550123;phone-context=+1", nil), ("tel:555-0123;phone-context=+1-415", nil),
      ("tel:5550123;phone-context=+1415", "DE"), ("tel:5550123;Phone-Context=+1415;tsp=a.b", nil),
      ("tel:7042;phone-context=+1415555", nil),
      // National, as without the scheme.
      ("tel:4155550123", "US"), ("tel:(415)555-0123", "us"), ("tel:+14155550123;phone-context=example.com", nil),
      // What says nothing about the number.
      ("tel:+14155550123;npdi;rn=+14155550199;cic=+19999", nil), ("tel:+14155550123;x=\u{202E}", nil),
      ("tel:+14155550123;", nil),
    ] as [(String, String?)])
  func `Numbers of tel UR is are read`(text: String, region: String?) throws {
    let number = try PhoneNumber.parse(text, region: region)
    #expect(["+14155550123", "+12015550123", "+14155557042"].contains(number.e164), "\(number.e164)")
  }

  @Test(
    arguments: [
      ("tel:+14155550123;ext=7", .hasExtension), ("tel:+14155550123;EXT=7", .hasExtension),
      ("tel:+14155550123;isub=1411", .hasExtension), ("tel:+14155550123;postd=pp22", .hasExtension),
      ("tel:+14155550123;ext", .hasExtension), ("tel:7042;phone-context=example.com", .privateNumber),
      ("tel:5550123;phone-context=houston.example.com;ext=3", .hasExtension),
      ("tel:4155550123", .missingRegion), ("tel:", .notANumber), ("tel:;phone-context=+1", .notANumber),
      ("tel:+", .notANumber), ("tel:+1415555CALL", .notANumber),
      ("tel:863-1234;phone-context=+1-914-555;phone-context=+49", .notANumber),
      ("tel:5550123;phone-context=", .notANumber), ("tel:5550123;phone-context", .notANumber),
      ("tel:5550123;phone-context=+1x", .notANumber), ("tel:++14155550123", .notANumber),
      ("tel:1+4155550123", .notANumber),
      ("tel://+14155550123", .notANumber), ("tel:%2B14155550123", .notANumber), ("tel:*69#", .notANumber),
      ("tel:\u{FF11}4155550123", .notANumber), ("telephone:+14155550123", .notANumber),
      ("sms:+14155550123", .notANumber),
      ("tel:tel:+14155550123", .notANumber), ("tel:+1415555012345678901", .tooLong),
      ("tel:+00155550123", .invalidCountryCode),
      ("tel:+14155550123;x=" + String(repeating: "x", count: 240), .tooLong),
    ] as [(String, PhoneNumberError.Code)])
  func `Malformed UR is are refused`(text: String, code: PhoneNumberError.Code) {
    let error = #expect(throws: PhoneNumberError.self) { try PhoneNumber.parse(text) }
    #expect(error?.code == code)
  }

  @Test func `An extension is refused in words for the user`() {
    let error = #expect(throws: PhoneNumberError.self) { try PhoneNumber.parse("tel:+14155550123;ext=7") }
    #expect(error?.description.contains("leave the extension out") == true)
  }
}
