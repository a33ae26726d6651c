import FoundationEssentials
import JobEngine
import Testing

@testable import SMS

private func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

@Suite struct NationalTablesTests {
  @Test
  func
    `Every table has 128 places, no character twice in a basic one, and the ten of the default extension in a single one`()
  {
    for language in NationalLanguage.allCases {
      let single = NationalTables.single(language).unicodeScalars
      #expect(single.count == 128, "\(language)")
      // Urdu has some elsewhere; all have those that a message may need.
      #expect("^{}\\[~]|€".unicodeScalars.allSatisfy(single.contains), "\(language)")
      guard let locking = NationalTables.locking(language)?.unicodeScalars else { continue }
      #expect(locking.count == 128, "\(language)")
      let characters = locking.filter { $0 != "…" }
      #expect(Set(characters).count == characters.count, "\(language)")
      #expect(
        "0123456789abcdefghijklmnopqrstuvwxyz \n\r!.,:;?()".unicodeScalars.allSatisfy(locking.contains), "\(language)")
    }
    #expect(NationalTables.locking(.spanish) == nil)
  }

  @Test(
    arguments: [
      ("ş", NationalShift(locking: nil, single: .turkish), [0x1B, 0x73]),
      ("ş", NationalShift(locking: .turkish, single: nil), [0x1D]),
      ("í€", NationalShift(locking: nil, single: .spanish), [0x1B, 0x69, 0x1B, 0x65]),
      ("ã@", NationalShift(locking: .portuguese, single: nil), [0x7B, 0x00]),
      ("Φ", NationalShift(locking: nil, single: .portuguese), [0x12]),
      ("क,।", NationalShift(locking: .hindi, single: .hindi), [0x15, 0x2C, 0x1B, 0x19]),
      ("ಡ", NationalShift(locking: .kannada, single: nil), [0x24]),
      ("ਾ", NationalShift(locking: .punjabi, single: nil), [0x50]),
      ("اے۔", NationalShift(locking: .urdu, single: .urdu), [0x00, 0x5B, 0x1B, 0x3F]),
    ] as [(String, NationalShift, [UInt8])])
  func `Places that the standard names`(text: String, shift: NationalShift, octets: [UInt8]) throws {
    let text = try #require(SMSText(text, shift))
    #expect(text.octets(of: text.text) == octets)
  }

  @Test func `The header takes its share of a segment: 155 and 149 septets with one table, 152 and 146 with two`() {
    let one = NationalShift(locking: nil, single: .turkish)
    #expect([one.singleLimit, one.partLimit] == [155, 149])
    #expect(one.informationElements == [0x24, 1, 1])
    let two = NationalShift(locking: .hindi, single: .hindi)
    #expect([two.singleLimit, two.partLimit] == [152, 146])
    #expect(two.informationElements == [0x24, 1, 6, 0x25, 1, 6])
  }

  @Test(
    arguments: [(139, 1), (140, 2)])
  func `Segments end at the limit of their tables`(letters: Int, segments: Int) throws {
    // 8 letters of the single shift table are 16 septets.
    let text = try #require(SMSText(times(letters, "a") + times(8, "ş"), NationalShift(locking: nil, single: .turkish)))
    #expect(text.units == letters + 16)
    #expect(text.segments == segments)
    #expect(text.parts().joined() == text.text)
  }

  @Test func `An escape pair of a national table is not cut`() throws {
    let text = try #require(SMSText(times(100, "ş"), NationalShift(locking: nil, single: .turkish)))
    #expect(text.parts().map(\.count) == [74, 26])
    #expect(text.parts().allSatisfy { text.octets(of: $0).count <= text.partLimit })
  }

  @Test(
    arguments: [
      (times(5, "Doğrulama kodunuzu paylaşmayın "), NationalLanguage.turkish),
      (times(5, "Não compartilhe o código de verificação "), .portuguese),
      (times(5, "Su código está aquí "), .spanish),
      (times(4, "आपका सत्यापन कोड है। "), .hindi),
      (times(4, "ನಿಮ್ಮ ಪರಿಶೀಲನಾ ಕೋಡ್ "), .kannada),
      (times(6, "آپ کا تصدیقی کوڈ "), .urdu),
    ])
  func `The shortest form is found, whatever the language`(text: String, language: NationalLanguage) throws {
    let national = try #require(SMSText(text).withNationalTables())
    #expect(national.shift?.language == language)
    #expect(national.segments < SMSText(text).segments)
    #expect(national.parts().joined().unicodeScalars.elementsEqual(text.unicodeScalars))
  }

  @Test func `A webhook says which tables the text needs`() throws {
    func payload(_ text: SMSText) throws -> String {
      let message = OutgoingSMS(to: "+14155550123", text: text, languageCode: nil)
      return String(decoding: try WebhookPayload(message, from: nil, Sample.attempt()).json(), as: UTF8.self)
    }
    let both = NationalShift(locking: .turkish, single: .turkish)
    // The order of the fields is nobody's business.
    let tables = try payload(#require(SMSText("ş", both)))
    #expect(
      [#"{"locking":1,"single":1}"#, #"{"single":1,"locking":1}"#].contains {
        tables.contains(#""nationalShift":"# + $0)
      })
    let single = NationalShift(locking: nil, single: .spanish)
    #expect(try payload(#require(SMSText("í", single))).contains(#""nationalShift":{"single":2}"#))
    #expect(try !payload(SMSText("é")).contains("nationalShift"))
  }

  @Test(arguments: ["проверка", "あ", "رمز التحقق ٤", "Ğ and あ"])
  func `Other scripts have no tables`(text: String) {
    #expect(SMSText(text).withNationalTables() == nil)
  }
}

@Suite struct ShortenedTextTests {
  private let long = times(2, "Non condivida il codice — mai, con “nessuno”. ")

  private func table() throws -> Transliteration {
    try Transliteration(file: Shipped.config + "/transliteration.json5")
  }

  @Test func `Nothing is done where nothing is allowed, or where it saves nothing`() throws {
    let everything = TextOptions(nationalShiftTables: true, transliteration: try table())
    #expect(SMSText(long).segments == 2)
    #expect(SMSText(long).shortened(.none) == SMSText(long))
    for text in ["código", "Ş", times(70, "ş"), times(200, "a"), times(71, "あ"), "“a” " + times(71, "あ")] {
      #expect(SMSText(text).shortened(everything) == SMSText(text), "\(text)")
    }
  }

  @Test func `Characters are replaced where that spares a segment`() throws {
    let text = SMSText(long).shortened(TextOptions(transliteration: try table()))
    #expect(text.text == times(2, "Non condivida il codice - mai, con \"nessuno\". "))
    #expect(text.encoding == .gsm7)
    #expect(text.segments == 1)
    // A letter and its accent are one character, however they are spelled.
    let decomposed = SMSText(times(80, "c\u{327}")).shortened(TextOptions(transliteration: try table()))
    #expect(decomposed.text == times(80, "c"))
  }

  @Test func `National tables keep the spelling, so they go before other letters, unless those spare more`() throws {
    let both = TextOptions(nationalShiftTables: true, transliteration: try table())
    let few = SMSText(times(3, "Doğrulama kodunuzu kimseyle paylaşmayın. "))
    #expect(few.shortened(both).shift?.language == .turkish)
    let many = SMSText(times(160, "ç"))
    #expect(many.shortened(TextOptions(nationalShiftTables: true)).segments == 2)
    #expect(many.shortened(both).text == times(160, "c"))
  }

  @Test func `The characters that cost a segment`() {
    #expect(SMSText("“código” ção").charactersOutsideGSM7 == ["“", "ó", "”", "ç", "ã"])
    #expect(SMSText("é€").charactersOutsideGSM7.isEmpty)
  }

  @Test func `A part in octets: septets for GSM 7 bit, UTF-16 for UCS-2`() {
    let gsm = SMSText("@A€\u{0C}à")
    #expect(gsm.octets(of: gsm.text) == [0x00, 0x41, 0x1B, 0x65, 0x1B, 0x0A, 0x7F])
    #expect(SMSText("Æ !").octets(of: "Æ !") == [0x1C, 0x20, 0x21])
    let ucs2 = SMSText("あ😀")
    #expect(ucs2.octets(of: ucs2.text) == [0x30, 0x42, 0xD8, 0x3D, 0xDE, 0x00])
    for (code, scalar) in SMSText(GSMAlphabet.basic).text.unicodeScalars.enumerated() {
      #expect(gsm.octets(of: String(scalar)) == [UInt8(code < 0x1B ? code : code + 1)])
    }
  }

  @Test(
    arguments: [(["ab": "a"], "'ab' is not one character"), (["ç": "ć"], "the replacement of 'ç' is not in the GSM")])
  func `A table that is wrong says what to fix`(table: [String: String], expected: String) {
    let error = #expect(throws: WorkerError.self) { try Transliteration(table) }
    #expect(error?.message.contains(expected) == true)
  }
}
