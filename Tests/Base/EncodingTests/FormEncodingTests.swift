import CountersignEncoding
import Testing

@Suite struct FormEncodingTests {
  @Test func `Everything but letters, digits and *-._ is escaped; a space is a plus`() {
    let bytes = FormEncoding.encode([(name: "To", value: "+1415"), (name: "Body", value: "a b&c=d%\né€😀*-._~")])
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "To=%2B1415&Body=a+b%26c%3Dd%25%0A%C3%A9%E2%82%AC%F0%9F%98%80*-._%7E")
  }

  @Test func `Fields come back in order`() {
    let fields = [(name: "a", value: "ü +&=%"), (name: "", value: ""), (name: "a", value: "2")]
    let decoded = FormEncoding.decode(FormEncoding.encode(fields))
    #expect(decoded.map(\.name) == fields.map(\.name))
    #expect(decoded.map(\.value) == fields.map(\.value))
  }

  @Test(
    arguments: [
      ("a", "a", ""), ("a=b=c", "a", "b=c"), ("a=%", "a", "%"), ("a=%zz", "a", "%zz"), ("a=%ff", "a", "\u{FFFD}"),
      ("%61=%2B+", "a", "+ "), ("&&a=1&&", "a", "1"),
    ])
  func `Fields may lack a value, and escapes may be broken`(text: String, name: String, value: String) {
    let fields = FormEncoding.decode(text.utf8)
    #expect(fields.map(\.name) == [name] && fields.map(\.value) == [value])
  }

  @Test func `Fields beyond the limit are ignored`() {
    let text = Array(repeating: "a=1", count: FormEncoding.maxFields + 1).joined(separator: "&")
    #expect(FormEncoding.decode(text.utf8).count == FormEncoding.maxFields)
  }
}
