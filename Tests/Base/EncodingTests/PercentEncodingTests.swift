import CountersignEncoding
import Testing

@Suite struct PercentEncodingTests {
  @Test(
    arguments: [
      ("azAZ09-._~", "azAZ09-._~"), ("", ""), ("/", "%2F"), ("a b+c", "a%20b%2Bc"), ("é€", "%C3%A9%E2%82%AC"),
      ("%\u{0}\u{7F}", "%25%00%7F"),
    ])
  func `Everything but unreserved characters is escaped`(plain: String, escaped: String) {
    #expect(PercentEncoding.encode(plain) == escaped)
    #expect(PercentEncoding.decode(escaped) == plain)
    #expect(PercentEncoding.decode(strictly: escaped) == plain)
  }

  @Test func `Digits of either case are read`() {
    #expect(PercentEncoding.decode("%2f%2F%c3%A9+") == "//é+")
    #expect(PercentEncoding.decode(strictly: "%2f%2F%c3%A9+") == "//é+")
  }

  @Test(
    arguments: [("%", "%"), ("a%4", "a%4"), ("%zz", "%zz"), ("%+1", "%+1"), ("%ff", "\u{FFFD}"), ("%%41", "%A")])
  func `A broken escape stays, or makes the text invalid`(escaped: String, lenient: String) {
    #expect(PercentEncoding.decode(escaped) == lenient)
    #expect(PercentEncoding.decode(strictly: escaped) == nil)
  }
}
