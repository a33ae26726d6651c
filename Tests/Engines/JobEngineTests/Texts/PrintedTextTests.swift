import JobEngine
import Testing

@Suite struct PrintedTextTests {
  @Test(
    arguments: [
      "482913 is your code.\r\n\tThanks", "Größe: 5 €", "код 482913", "κωδικός", "קוד\u{200F} 482913",
      "رمز\u{061C} 482913",
      "می\u{200C}خواهم", "می\u{200C} خواهم", "क्\u{200D}ष", "ශ්\u{200D}රී", "👩🏽\u{200D}💻", "❤\u{FE0F}\u{200D}🔥",
      "👁\u{FE0F}\u{200D}🗨\u{FE0F}", "🏳\u{FE0F}\u{200D}🌈", "1\u{FE0F}\u{20E3}",
      "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
      "۶\u{200C}رقمی", "6\u{200C}رقمی", "SMS\u{200C}ها", "«Example»\u{200C}ها", "۱۲\u{200C}",
      "លេខ\u{200B}កូដ", "កូដ\u{200B}482913", "Example\u{200B}កូដ", "รหัส\u{200B}ยืนยัน", "ລະຫັດ\u{200B}ຢືນຢັນ", "ကုဒ်\u{200B}နံပါတ်",
      "葛\u{E0100}", "\u{0600}١٢", "ទឹក", "รหัส", "e\u{301}", "\u{1FADF}",
    ])
  func `Characters that languages and emoji need are allowed`(text: String) { #expect(PrintedText.isClean(text)) }

  @Test(
    arguments: [
      "a\u{0}", "a\u{7}", "a\u{1B}[2J", "a\u{7F}", "a\u{85}", "a\u{9B}", "a\u{2028}b", "a\u{2029}b", "a\u{200B}b",
      "a\u{2060}b",
      "a\u{FEFF}b", "a\u{AD}b", "a\u{202A}b", "a\u{202E}b", "a\u{2066}b", "a\u{2069}b", "a\u{206A}b", "a\u{E000}",
      "a\u{F8FF}",
      "a\u{100000}", "a\u{FFF9}b", "a\u{3164}b", "a\u{FFA0}b", "a\u{115F}b",
      "pay\u{200D}pal", "pay\u{200C}pal", "п\u{200D}а", "\u{200D}a", " \u{200C}", "می\u{200C}\u{200C}خ", "a\u{E0041}",
      "SMS\u{200C}s", "SMS\u{200C}\u{200C}ها", "។\u{200B}\u{200B}ក", "می\u{200B}خ", "क\u{200B}ख", "漢\u{200B}字",
      "\u{200B}",
      "a\u{2068}b\u{2069}c", "1\u{FE0F}\u{200D}2", "\u{180E}", "a\u{E0001}", "a\u{2065}b",
    ])
  func `Characters that hide or reorder text are refused`(text: String) { #expect(!PrintedText.isClean(text)) }

  @Test(
    arguments: [0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF])
  func `Noncharacters, which no literal can hold, are refused`(value: UInt32) throws {
    #expect(!PrintedText.isClean("a\(Character(try #require(Unicode.Scalar(value))))b"))
  }

  @Test func `A line is clean text without line breaks and tabs`() {
    for line in ["482913 is your code", "រ\u{200B}កូដ", "SMS\u{200C}ها"] { #expect(PrintedText.isCleanLine(line)) }
    for line in ["a\nb", "a\r", "a\tb", "a\u{85}b", "a\u{2028}b", "a\u{200B}b"] {
      #expect(!PrintedText.isCleanLine(line))
    }
  }
}
