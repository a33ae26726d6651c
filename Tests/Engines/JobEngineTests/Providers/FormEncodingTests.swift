import Testing

@testable import JobEngine

@Suite("Form encoding")
struct FormEncodingTests {
  @Test("Everything but letters, digits and *-._ is escaped; a space is a plus")
  func escaping() {
    let bytes = FormEncoding.encode([(name: "To", value: "+1415"), (name: "Body", value: "a b&c=d%\né€😀*-._~")])
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "To=%2B1415&Body=a+b%26c%3Dd%25%0A%C3%A9%E2%82%AC%F0%9F%98%80*-._%7E")
  }
}
