import CountersignEncoding
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

@Suite struct FindCommandTests {
  private static func verification(
    _ id: String, _ minute: Int, _ state: String, _ more: [String: JSONValue] = [:]
  ) -> JSONValue {
    .object(
      [
        "verificationID": .text(id), "app": .text("com.example.app"), "state": .text(state),
        "startedAt": .text("2026-07-01T11:0\(minute):00Z"), "testNumber": .bool(false),
      ].merging(more) { $1 })
  }

  private static func backend(_ verifications: [JSONValue], next: String? = nil) -> FakeBackend {
    FakeBackend(replies: [
      "verification.find": .object(
        ["verifications": .array(verifications), "retentionSeconds": .integer(86_400)].merging(
          next.map { ["next": .text($0)] } ?? [:]
        ) { $1 })
    ])
  }

  private static func sent(_ backend: FakeBackend) -> [String] {
    backend.sent.withLock { $0.filter { $0.hasPrefix("verification.find") } }
  }

  @Test func `What was found is a table, the latest first, without the number`() async {
    let sms = JSONValue.object([
      "at": .text("2026-07-01T11:05:02Z"), "event": .text("sms.refused"), "job": .integer(1),
      "lane": .text("twilio"), "reason": .text("UNKNOWN_NUMBER"),
    ])
    let backend = Self.backend([
      Self.verification("v1", 1, "approved", ["purpose": .text("secondFactorSignIn")]),
      Self.verification("v2", 5, "failed", ["reason": .text("UNKNOWN_NUMBER"), "sms": sms]),
      Self.verification("v3", 3, "pending", ["testNumber": .bool(true)]),
    ])
    let run = await Run(backend, "verify", "find", "+14155550123")
    #expect(run.code == .success, "\(run.error)")
    #expect(
      run.output == """
        STARTED               ID  APP              PURPOSE             STATE                    SMS              LANE    DETAIL
        2026-07-01T11:05:00Z  v2  com.example.app  signIn              failed (UNKNOWN_NUMBER)  refused          twilio  UNKNOWN_NUMBER
        2026-07-01T11:03:00Z  v3  com.example.app  signIn              pending                  none: fictional
        2026-07-01T11:01:00Z  v1  com.example.app  secondFactorSignIn  approved

        the life of one: countersign verify status ID

        """)
    #expect(backend.sent.withLock { $0.first } == "as operator")
    #expect(Self.sent(backend).count == 1 && Self.sent(backend)[0].contains(#"{"phoneNumber":"+14155550123"}"#))
  }

  @Test func `JSON has all of it`() async throws {
    let run = await Run(Self.backend([Self.verification("v1", 1, "sent")]), "verify", "find", "+14155550123", "--json")
    let json = try JSONValue(parsing: Array(run.output.utf8))
    #expect(json["verifications"]?.array.first?["verificationID"]?.text == "v1" && json["retentionSeconds"] != nil)
  }

  @Test func `A time may be given, or how long ago it was`() async {
    for (since, time) in [
      ("2h", "2026-07-01T10:00:00Z"), ("1d", "2026-06-30T12:00:00Z"), ("2026-07-01T09:30:00Z", "2026-07-01T09:30:00Z"),
    ] {
      let backend = Self.backend([])
      #expect(await Run(backend, "verify", "find", "+14155550123", "--since", since).code == .success)
      #expect(Self.sent(backend).first?.contains(#""since":"\#(time)""#) == true, "\(since)")
    }
    for since in ["", "soon", "-2h", "2w", "2026-07-01", "400d"] {
      let run = await Run(Self.backend([]), "verify", "find", "+14155550123", "--since=\(since)")
      #expect(run.code == .usage && run.error.contains("--since"), "\(since)")
    }
  }

  @Test func `A number without any is told so, with how long they are kept`() async {
    let run = await Run(Self.backend([]), "verify", "find", "+14155550123")
    #expect(run.code == .success && run.output.contains("no verification of this number is on record"))
    #expect(run.output.contains("kept for 24 h") && !run.output.contains("+1415"))
    let since = await Run(Self.backend([]), "verify", "find", "+14155550123", "--since", "2h")
    #expect(since.output.contains("that began since 2026-07-01T10:00:00Z"))
  }

  @Test func `Pages are read up to a bound`() async {
    let backend = Self.backend([Self.verification("v1", 1, "sent")], next: "n1")
    let run = await Run(backend, "verify", "find", "+14155550123", "--json")
    #expect(run.code == .success && run.error.contains("the number has more verifications"))
    #expect(
      Self.sent(backend).count == 64 && Self.sent(backend).dropFirst().allSatisfy { $0.contains(#""after":"n1""#) })
    #expect(!run.output.contains(#""next""#))
  }
}
