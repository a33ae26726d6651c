import CountersignTelemetry
import Testing

@testable import JobEngine

@Suite struct RetryAfterTests {
  /// 1994-11-06T08:49:00Z, 37 seconds before the example of RFC 9110.
  private let now = UnixTime(seconds: 784_111_740)

  @Test(
    arguments: [
      ("120", 120), ("0", 0), (" 7 ", 7), ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sunday, 06-Nov-94 08:49:37 GMT", 37),
      ("Sun Nov  6 08:49:37 1994", 37), ("Sat, 05 Nov 1994 08:49:37 GMT", 0), ("999999", 86_400),
      ("99999999999999999999999", 86_400), ("Sun, 06 Nov 2094 08:49:37 GMT", 86_400),
    ])
  func `Seconds and all three forms of dates`(text: String, seconds: Int) {
    #expect(RetryAfter.parse(text, now: now) == .seconds(seconds))
  }

  @Test(
    arguments: ["", "soon", "Soon", "-1", "1.5", "+3", "1 2 3", "20:49", "Sun, 06 Foo 1994 08:49:37 GMT"])
  func `Anything else is not such a header`(text: String) {
    #expect(RetryAfter.parse(text, now: now) == nil)
  }
}
