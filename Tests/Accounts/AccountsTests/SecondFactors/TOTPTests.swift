import CountersignTelemetry
import Testing

@testable import Accounts

@Suite("Codes of authenticators") struct TOTPTests {
  private let totp = TOTP(secret: Array("12345678901234567890".utf8))

  private func code(of step: UInt64) -> String { String(decoding: totp.code(of: step), as: UTF8.self) }

  private func step(_ code: String, at seconds: Int64, after last: Int? = nil) -> Int? {
    totp.step(of: code, at: UnixTime(seconds: seconds), after: last)
  }

  @Test func `Codes are those of RFC 4226, appendix D`() {
    let codes = [
      "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
    ]
    #expect((0...9).map { code(of: $0) } == codes)
  }

  /// The last six of its eight digits.
  @Test(
    arguments: [
      (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
      (2_000_000_000, "279037"), (20_000_000_000, "353130"),
    ])
  func `Codes of times are those of RFC 6238, appendix B`(_ seconds: Int64, _ code: String) {
    #expect(step(code, at: seconds) == Int(seconds / 30))
  }

  @Test func `A code counts one step early and one late, and no further`() {
    let now: Int64 = 1_700_000_010
    let present = now / 30
    for offset in Int64(-3)...3 {
      let found = step(code(of: UInt64(present + offset)), at: now)
      #expect(found == (abs(offset) <= 1 ? Int(present + offset) : nil), "\(offset)")
    }
  }

  @Test func `No code of a step that has counted, or of one before, counts`() {
    let now: Int64 = 1_700_000_010
    let present = Int(now / 30)
    let codes = (-1...1).map { code(of: UInt64(present + $0)) }
    #expect(codes.map { step($0, at: now, after: present - 1) } == [nil, present, present + 1])
    #expect(codes.map { step($0, at: now, after: present) } == [nil, nil, present + 1])
    #expect(codes.map { step($0, at: now, after: present + 1) } == [nil, nil, nil])
    // With the clock of another host, minutes ahead, and with one that was set back.
    #expect(codes.map { step($0, at: now, after: present + 11) } == [nil, nil, nil])
    #expect(codes.map { step($0, at: now, after: present + 12) } == [present - 1, present, present + 1])
    #expect(codes.map { step($0, at: now, after: .max) } == [present - 1, present, present + 1])
  }

  @Test(
    arguments: ["", "28708", "2870822", "28708a", " 287082", "287 082", "２８７０８２", "+28708", "287082\n", "٢٨٧٠٨٢"])
  func `Anything but six ASCII digits is no code`(_ text: String) {
    #expect(step(text, at: 59) == nil)
  }

  @Test(arguments: [Int64.min, Int64.min + 1, -30_001, -30_000, -1, 0, 29_999, Int64.max - 1, Int64.max])
  func `No time is one that cannot be computed with`(_ milliseconds: Int64) {
    let now = UnixTime(milliseconds: milliseconds)
    #expect(totp.step(of: "000000", at: now, after: nil) == nil)
    #expect(totp.step(of: "000000", at: now, after: .min) == nil)
    let step = TOTP.step(at: now)
    #expect(milliseconds >= 0 ? step == milliseconds / 30_000 : step < 0)
  }

  @Test func `The first step has a code, and the one before it has none`() {
    #expect(totp.step(of: "755224", at: UnixTime(milliseconds: -1), after: nil) == 0)
    #expect(TOTP.step(at: UnixTime(milliseconds: -30_000)) == -1)
    #expect(TOTP.step(at: UnixTime(milliseconds: -30_001)) == -2)
  }
}
