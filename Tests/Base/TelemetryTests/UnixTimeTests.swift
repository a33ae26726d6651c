import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

@Suite struct UnixTimeTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0),
      ("2026-07-01T12:00:00Z", 1_782_907_200_000),
      ("2026-07-01T12:00:00.5Z", 1_782_907_200_500),
      ("2026-07-01T12:00:00.123456789Z", 1_782_907_200_123),
      ("2026-07-01T14:30:00+02:30", 1_782_907_200_000),
      ("2026-07-01t04:00:00-08:00", 1_782_907_200_000),
      ("2000-02-29T23:59:59.999z", 951_868_799_999),
      ("1969-12-31T23:59:59.999Z", -1),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ])
  func `Timestamps of RFC3339 are read`(text: String, milliseconds: Int64) {
    #expect(UnixTime(rfc3339: text)?.milliseconds == milliseconds)
  }

  @Test(
    arguments: [
      "", "2026-07-01", "2026-07-01T12:00:00", "2026-07-01T12:00Z", "2026-13-01T12:00:00Z", "2026-02-29T12:00:00Z",
      "1900-02-29T12:00:00Z", "2026-04-31T12:00:00Z", "2026-07-01T24:00:00Z", "2026-07-01T12:60:00Z",
      "2026-07-01T12:00:00.Z", "2026-07-01T12:00:00+0200", "2026-07-01T12:00:00Z ", "26-07-01T12:00:00Z",
      "2026-07-01T12:00:00+24:00", "+026-07-01T12:00:00Z", "２026-07-01T12:00:00Z",
    ])
  func `Malformed timestamps are refused`(text: String) {
    #expect(UnixTime(rfc3339: text) == nil)
  }

  @Test func `Timestamps are written in UTC`() {
    #expect(UnixTime(milliseconds: 1_782_907_200_000).rfc3339 == "2026-07-01T12:00:00Z")
    #expect(UnixTime(milliseconds: 1_782_907_200_007).rfc3339 == "2026-07-01T12:00:00.007Z")
    #expect(UnixTime(milliseconds: -1).rfc3339WithMilliseconds == "1969-12-31T23:59:59.999Z")
    #expect(UnixTime(milliseconds: .max).rfc3339 == "9999-12-31T23:59:59.999Z")
    #expect(UnixTime(milliseconds: .min).rfc3339 == "0000-01-01T00:00:00Z")
  }

  @Test func `Every day of four centuries survives the round trip`() {
    let changed = (-80_000 as Int64..<80_000).filter { day in
      let time = UnixTime(milliseconds: day * 86_400_000 + 43_200_000)
      return UnixTime(rfc3339: time.rfc3339) != time
    }
    #expect(changed.isEmpty)
  }

  @Test func `Agrees with foundation`() {
    for milliseconds in stride(from: -5_000_000_000_000 as Int64, to: 5_000_000_000_000, by: 98_765_432_500) {
      let time = UnixTime(milliseconds: milliseconds)
      let date = Date(timeIntervalSince1970: time.fractionalSeconds)
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
      #expect(time.rfc3339WithMilliseconds == date.formatted(style))
    }
  }

  @Test func `Durations are added and subtracted`() {
    let time = UnixTime(seconds: 100)
    #expect(time + .milliseconds(1500) == UnixTime(milliseconds: 101_500))
    #expect(time - .seconds(1) < time)
    #expect(UnixTime(seconds: 107) - time == .seconds(7))
    #expect(UnixTime(milliseconds: -1).seconds == -1)
    #expect(UnixTime(milliseconds: .max) + .seconds(1) == UnixTime(milliseconds: .max))
  }

  @Test func `The ends of time have seconds, and seconds beyond them are the nearest end`() {
    #expect(UnixTime(milliseconds: .min).seconds == -9_223_372_036_854_776)
    #expect(UnixTime(milliseconds: .max).seconds == 9_223_372_036_854_775)
    #expect(
      [-1001, -1000, -999, -1, 0, 999, 1000].map { UnixTime(milliseconds: $0).seconds } == [-2, -1, -1, -1, 0, 0, 1])
    #expect(UnixTime(seconds: .min) == UnixTime(milliseconds: .min))
    #expect(UnixTime(seconds: .max) == UnixTime(milliseconds: .max))
  }

  @Test func `A time is text in JSON`() throws {
    let times = [UnixTime(seconds: 1_782_907_200)]
    let json = try JSONEncoder().encode(times)
    #expect(String(decoding: json, as: UTF8.self) == "[\"2026-07-01T12:00:00Z\"]")
    #expect(try JSONDecoder().decode([UnixTime].self, from: json) == times)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([UnixTime].self, from: Data("[\"soon\"]".utf8)) }
  }

  @Test func `The system clock shows this millennium`() {
    #expect(SystemClock().now() > UnixTime(seconds: 1_700_000_000))
  }

  @Test func `The manual clock stands still`() {
    let clock = ManualClock(UnixTime(seconds: 5))
    clock.advance(by: .milliseconds(10))
    #expect(clock.now() == UnixTime(milliseconds: 5010))
  }
}
