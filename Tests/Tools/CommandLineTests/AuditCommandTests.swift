import CountersignEncoding
import CountersignMessages
import ServiceRuntime
import Synchronization
import Testing

@testable import CommandLine

@Suite struct AuditCommandTests {
  private static func time(_ minute: Int) -> JSONValue { .text("2026-07-01T12:0\(minute):00Z") }

  private static func act(_ act: String, _ minute: Int, count: Int64 = 100) -> JSONValue {
    .object([
      "project": .text("example"), "by": .text("operator"), "act": .text(act), "count": .integer(count),
      "actedAt": time(minute),
    ])
  }

  private static func operatorAct(_ act: String, _ subject: String, _ minute: Int) -> JSONValue {
    .object([
      "by": .text("operator"), "act": .text(act), "subject": .text(subject), "actedAt": time(minute),
    ])
  }

  private static func page(_ acts: [JSONValue], next: String? = nil) -> JSONValue {
    .object(["acts": .array(acts)].merging(next.map { ["next": .text($0)] } ?? [:]) { first, _ in first })
  }

  @Test func `Acts are asked for page by page`() async {
    let backend = FakeBackend(replies: [
      "account.audit": Self.page([Self.act("import", 0)], next: "n1"), "operator.audit": Self.page([]),
    ])
    let run = await Run(backend, "audit", "--project", "example", "--limit", "3")
    #expect(run.code == .success, "\(run.error)")
    #expect(run.output.contains("2026-07-01T12:00:00Z  operator  import  100 accounts"))
    let sent = backend.sent.withLock { $0.filter { $0.contains("account.audit") } }
    #expect(sent.count == 3 && sent[0].contains(#""limit":3"#) && !sent[0].contains("after"))
    #expect(sent[2].contains(#""after":"n1""#) && sent[2].contains(#""limit":1"#))
  }

  @Test func `Acts on accounts and others are one list, the latest first`() async {
    let replies = [
      "account.audit": Self.page([Self.act("import", 4), Self.act("remove", 1, count: 1)]),
      "operator.audit": Self.page([
        Self.operatorAct("conversion.lift", "US", 3), Self.operatorAct("dead.drop", "sms.dispatch", 0),
      ]),
    ]
    let run = await Run(FakeBackend(replies: replies), "audit", "--project", "example", "--limit", "3")
    #expect(
      run.output == """
        TIME                  BY        ACT              ABOUT
        2026-07-01T12:04:00Z  operator  import           100 accounts
        2026-07-01T12:03:00Z  operator  conversion.lift  US
        2026-07-01T12:01:00Z  operator  remove           1 account

        """)
    let json = await Run(FakeBackend(replies: replies), "audit", "--project", "example", "--json").output
    #expect(json.contains(#""subject":"US""#) && json.contains(#""project":"example""#))
    let backend = FakeBackend(replies: replies)
    let others = await Run(backend, "audit").output
    #expect(others.contains("dead.drop") && !others.contains("import"))
    #expect(backend.sent.withLock { !$0.joined().contains("account.audit") })
  }

  @Test func `An act on the broker is announced before it is done`() async {
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")])
    #expect(await Run(backend, "dead", "drop").code == .failure)
    #expect(await Run(backend, "dead", "redrive", "--dry-run").code == .success)
    #expect(backend.noted.withLock { $0.isEmpty })
    #expect(await Run(backend, "dead", "drop", "--yes").code == .success)
    #expect(await Run(backend, "dead", "redrive").code == .success)
    #expect(
      backend.noted.withLock { $0 } == [
        NoteAct(act: "dead.drop", subject: "sms.dispatch"), NoteAct(act: "dead.redrive", subject: "sms.dispatch"),
      ])
  }

  @Test func `An act that cannot be announced is not done`() async {
    let refusal = CommandLineError(APIError(.operationNotAllowed, "not an operator", field: "user_id"))
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")], noteFailure: refusal)
    #expect(await Run(backend, "dead", "drop", "--yes").code == .failure)
    #expect(backend.dead.left == ["a"])
  }

  @Test func `A coordinator that is away keeps no act from being done`() async {
    var away = CommandLineError(.unavailable, "no answer")
    away.isUnanswered = true
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")], noteFailure: away)
    let run = await Run(backend, "dead", "drop", "--yes")
    #expect(run.code == .success && run.error.contains("will note this act"))
    #expect(backend.dead.left == [])
  }
}
