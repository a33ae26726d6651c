import Testing

@testable import SMS

/// A text and what it must come to. `name` stands in for the text in the test's output.
struct TextCase: Sendable, CustomTestStringConvertible {
  let name: String
  let text: String
  let encoding: SMSEncoding
  let units: Int
  let segments: Int
  var testDescription: String { name }

  init(_ name: String, _ text: String, _ encoding: SMSEncoding, _ units: Int, _ segments: Int) {
    self.name = name
    self.text = text
    self.encoding = encoding
    self.units = units
    self.segments = segments
  }
}

private func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

@Suite struct SMSTextTests {
  static let cases: [TextCase] = [
    TextCase("empty", "", .gsm7, 0, 1),
    TextCase("160 letters", times(160, "a"), .gsm7, 160, 1),
    TextCase("161 letters", times(161, "a"), .gsm7, 161, 2),
    TextCase("306 letters", times(306, "a"), .gsm7, 306, 2),
    TextCase("307 letters", times(307, "a"), .gsm7, 307, 3),
    TextCase("80 euro signs", times(80, "€"), .gsm7, 160, 1),
    // 76 fit a part of 153 septets, one septet stays empty: 81 are two parts although 162 septets would fill 1.06.
    TextCase("81 euro signs", times(81, "€"), .gsm7, 162, 2),
    // 152 pairs are 304 septets, within two parts of 153, but each part holds 76: 153 need a third.
    TextCase("152 euro signs", times(152, "€"), .gsm7, 304, 2),
    TextCase("153 euro signs", times(153, "€"), .gsm7, 306, 3),
    TextCase("159 letters and a brace", times(159, "a") + "{", .gsm7, 161, 2),
    TextCase("extension table", "^{}\\[~]|€\u{0C}", .gsm7, 20, 1),
    TextCase("CR LF counts two", "a\r\nb", .gsm7, 4, 1),
    TextCase("80 CR LF", times(80, "\r\n"), .gsm7, 160, 1),
    TextCase("Greek capitals of the alphabet", "ΔΦΓΛΩΠΨΣΘΞ", .gsm7, 10, 1),
    TextCase("Greek capital that is not in it", "Α", .ucs2, 1, 1),
    TextCase("upper case C with cedilla", "Ç", .gsm7, 1, 1),
    TextCase("lower case c with cedilla", "ç", .ucs2, 1, 1),
    TextCase("backtick", "`", .ucs2, 1, 1),
    TextCase("tab", "\t", .ucs2, 1, 1),
    TextCase("escape", "\u{1B}", .ucs2, 1, 1),
    TextCase("no-break space", "a\u{A0}b", .ucs2, 3, 1),
    TextCase("French", "Votre code de vérification à Où", .gsm7, 31, 1),
    TextCase("German", "Bestätigungscode für Öl, Straße", .gsm7, 31, 1),
    TextCase("decomposed accents are composed", "ve\u{301}rif a\u{300}", .gsm7, 7, 1),
    TextCase("ångström and ohm signs", "\u{212B}\u{2126}", .gsm7, 2, 1),
    TextCase("decomposed, with CR LF", "e\u{301}\r\n", .gsm7, 3, 1),
    TextCase("accent that the alphabet lacks", "co\u{301}digo", .ucs2, 7, 1),
    TextCase("70 Japanese", times(70, "あ"), .ucs2, 70, 1),
    TextCase("71 Japanese", times(71, "あ"), .ucs2, 71, 2),
    TextCase("134 Japanese", times(134, "あ"), .ucs2, 134, 2),
    TextCase("135 Japanese", times(135, "あ"), .ucs2, 135, 3),
    TextCase("35 emoji", times(35, "😀"), .ucs2, 70, 1),
    // 33 pairs are 66 units; the 67th stays empty.
    TextCase("36 emoji", times(36, "😀"), .ucs2, 72, 2),
    TextCase("66 emoji", times(66, "😀"), .ucs2, 132, 2),
    TextCase("67 emoji", times(67, "😀"), .ucs2, 134, 3),
    TextCase("Hindi", "आपका सत्यापन कोड 123456 है।", .ucs2, 27, 1),
    TextCase("Arabic", "رمز التحقق هو 123456", .ucs2, 20, 1),
    TextCase("Arabic, 71", times(71, "ر"), .ucs2, 71, 2),
    TextCase("one euro sign turns UCS-2 with another script", "あ€", .ucs2, 2, 1),
  ]

  @Test(arguments: cases)
  func `Table`(_ expected: TextCase) {
    let text = SMSText(expected.text)
    #expect(text.encoding == expected.encoding)
    #expect(text.units == expected.units)
    #expect(text.segments == expected.segments)
    #expect(text.parts().count == expected.segments)
    #expect(text.parts().joined().unicodeScalars.elementsEqual(text.text.unicodeScalars))
  }

  @Test func `The basic table has 127 characters beside escape, the extension table 10`() {
    #expect(Set(GSMAlphabet.basic.unicodeScalars).count == 127)
    #expect(GSMAlphabet.basic.unicodeScalars.count == 127)
    #expect(Set(GSMAlphabet.extended.unicodeScalars).count == 10)
  }

  @Test func `A composed text is sent composed`() {
    #expect(SMSText("e\u{301}").text.unicodeScalars.elementsEqual("\u{E9}".unicodeScalars))
    #expect(SMSText("o\u{301}").text.unicodeScalars.elementsEqual("o\u{301}".unicodeScalars))
  }

  @Test func `Euro signs never leave half of their escape behind`() {
    let parts = SMSText("a" + times(80, "€")).parts()
    #expect(parts.map(\.count) == [77, 4])
    #expect(SMSText(times(81, "€")).parts().map(\.count) == [76, 5])
  }

  @Test func `Emoji are not cut, whatever stands before them`() {
    #expect(SMSText(times(36, "😀")).parts().map(\.utf16.count) == [66, 6])
    #expect(SMSText("a" + times(36, "😀")).parts().map(\.utf16.count) == [67, 6])
  }

  @Test func `Clusters stay whole: family emoji, flag, Devanagari syllable, CR LF`() {
    for cluster in ["👨‍👩‍👧‍👦", "🇧🇷", "क्षि", "👍🏽", "\r\n"] {
      for lead in 60...70 {
        let parts = SMSText(times(lead, "あ") + cluster + times(20, "い")).parts()
        #expect(parts.contains { $0.contains(Character(cluster)) }, "\(cluster) after \(lead)")
        #expect(parts.allSatisfy { $0.utf16.count <= 67 })
      }
    }
    let parts = SMSText(times(152, "a") + "\r\n" + times(20, "b")).parts()
    #expect(parts.map(\.unicodeScalars.count) == [152, 22])
  }

  @Test func `A cluster longer than a part is cut between scalars`() {
    let zalgo = "あ" + times(150, "\u{301}")
    let parts = SMSText("い" + zalgo).parts()
    #expect(parts.map(\.utf16.count) == [67, 67, 18])
    let emoji = "😀" + times(40, "\u{200D}😀")
    for part in SMSText(emoji).parts() {
      #expect(part.utf16.count <= 67)
      #expect(!part.unicodeScalars.contains("\u{FFFD}"))
    }
  }
}
