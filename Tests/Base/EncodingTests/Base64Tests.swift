import CountersignEncoding
import Testing

@Suite struct Base64Tests {
  /// RFC 4648, section 10.
  static let vectors = [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ]

  @Test("Matches the vectors of the RFC", arguments: vectors)
  func matchesTheVectorsOfTheRFC(plain: String, text: String) {
    #expect(Base64.encode(ascii(plain)) == text)
    #expect(Base64.decode(text) == ascii(plain))
    let unpadded = String(text.prefix { $0 != "=" })
    #expect(Base64URL.encode(ascii(plain)) == unpadded)
    #expect(Base64URL.decode(unpadded) == ascii(plain))
  }

  @Test("Every length and byte comes back") func everyLengthAndByteComesBack() {
    for count in 0...300 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test("The two alphabets differ in two characters") func theTwoAlphabetsDifferInTwoCharacters() {
    #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
    #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
  }

  @Test(
    "Refused with padding",
    arguments: [
      "Zg=", "Zg", "Zg===", "Zh==", "Zm9=", "Zm9v=", "====", "=", "Z g=", "Zm9v\n", "-_-_", "Zg==Zg==", "é===",
    ])
  func refusedWithPadding(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(
    "The URL alphabet refuses the other",
    arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "+/+/", "Zg ", " Zg", "Zg\0", "Zm9v\n"])
  func theURLAlphabetRefusesTheOther(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }
}

private func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }
