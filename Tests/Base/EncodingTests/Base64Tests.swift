import CountersignEncoding
import Testing

@Suite struct Base64Tests {
  /// RFC 4648, section 10.
  static let vectors = [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ]

  @Test(arguments: vectors)
  func `Matches the vectors of the RFC`(plain: String, text: String) {
    #expect(Base64.encode(ascii(plain)) == text)
    #expect(Base64.decode(text) == ascii(plain))
    let unpadded = String(text.prefix { $0 != "=" })
    #expect(Base64URL.encode(ascii(plain)) == unpadded)
    #expect(Base64URL.decode(unpadded) == ascii(plain))
  }

  @Test func `Every length and byte comes back`() {
    for count in 0...300 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test func `The two alphabets differ in two characters`() {
    #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
    #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
  }

  @Test(
    arguments: [
      "Zg=", "Zg", "Zg===", "Zh==", "Zm9=", "Zm9v=", "====", "=", "Z g=", "Zm9v\n", "-_-_", "Zg==Zg==", "é===",
    ])
  func `Refused with padding`(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(
    arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "+/+/", "Zg ", " Zg", "Zg\0", "Zm9v\n"])
  func `The URL alphabet refuses the other`(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test(arguments: ["+/+/8A==", "-_-_8A==", "+/+/8A", "-_-_8A", "+_-/8A"])
  func `Base64 of other systems is read in either alphabet`(text: String) {
    #expect(AnyBase64.decode(text) == [0xFB, 0xFF, 0xBF, 0xF0])
  }

  @Test(arguments: ["Z", "Zg=", "Zg===", "Zh==", "Zh", "=", "====", "Zg ", "Zm9v\n", "é", "Zg==Zg=="])
  func `Base64 of other systems is nothing when damaged`(text: String) {
    #expect(AnyBase64.decode(text) == nil)
  }
}

private func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }
