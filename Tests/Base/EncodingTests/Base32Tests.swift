import CountersignEncoding
import Testing

@Suite struct Base32Tests {
  @Test(
    arguments: [
      ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
      ("foobar", "MZXW6YTBOI"),
    ])
  func `The vectors of RFC 4648 are encoded, without their padding`(_ text: String, _ encoded: String) {
    #expect(Base32.encode(Array(text.utf8)) == encoded)
  }

  @Test func `Twenty bytes have 32 digits, and large values keep their bits`() {
    #expect(Base32.encode([UInt8](repeating: 0xFF, count: 20)) == String(repeating: "7", count: 32))
    #expect(Base32.encode([0x00, 0x44, 0x32, 0x14, 0xC7]) == "ABCDEFGH")
  }
}
