import HTTPClient
import Testing

@Suite struct HTTPDateTests {
  @Test(
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func `All three forms are read`(text: String) {
    #expect(HTTPDate.seconds(text) == 784_111_777)
  }

  @Test(
    arguments: [
      "", "soon", "Soon", "yesterday", "20260701", "12:30", "1", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT" + String(repeating: " ", count: 40),
    ])
  func `Other text is not a date`(text: String) {
    #expect(HTTPDate.seconds(text) == nil)
  }
}
