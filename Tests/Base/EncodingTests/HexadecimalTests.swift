import CountersignEncoding
import Testing

@Suite struct HexadecimalTests {
  @Test func `All bytes come back, in either case`() {
    let bytes = (0...255).map(UInt8.init)
    let lower = Hexadecimal.encode(bytes)
    #expect(lower.hasPrefix("000102030405060708090a0b0c0d0e0f10") && lower.hasSuffix("fdfeff"))
    #expect(Hexadecimal.encode(bytes, uppercase: true) == lower.uppercased())
    #expect(Hexadecimal.decode(lower) == bytes)
    #expect(Hexadecimal.decode(lower.uppercased()) == bytes)
    #expect(Hexadecimal.encode([]).isEmpty)
  }

  @Test(arguments: ["0", "0g", "g0", " 0", "0x", "é", "00 "])
  func `Other text has no bytes`(text: String) {
    #expect(Hexadecimal.decode(text) == nil)
  }

  @Test(
    arguments: [
      (0, 0, "0"), (0, 4, "0000"), (0xE7, 4, "00e7"), (0x1F600, 4, "1f600"), (0x10, 2, "10"), (0xF, 1, "f"),
      (UInt64.max, 16, "ffffffffffffffff"), (1, 64, String(repeating: "0", count: 63) + "1"),
    ] as [(UInt64, Int, String)])
  func `Numbers have at least the width`(number: UInt64, width: Int, text: String) {
    #expect(Hexadecimal.text(number, width: width) == text)
    #expect(Hexadecimal.text(number, width: width, uppercase: true) == text.uppercased())
  }

  @Test func `A UUID has five groups`() {
    #expect(Hexadecimal.uuid((0..<16).map(UInt8.init)) == "00010203-0405-0607-0809-0a0b0c0d0e0f")
  }
}
