import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

/// One row that cannot be read must keep no other.
@Suite struct SteppingAroundTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private static let other = "+14155550177"

  @Test func `A verification is skipped: the others expire, its number is free, and it is deleted in its time`()
    async throws
  {
    let unreadable = try await bench.start().verificationID
    _ = try await bench.start(Self.other)
    try await bench.damage("verification", unreadable)
    bench.clock.advance(by: .seconds(300))
    _ = try await bench.sweep()
    _ = bench.sink.takePublished()
    _ = try await bench.relay()
    #expect(bench.events() == ["verification.expired"])
    #expect(bench.registry.render().contains(#"countersign_rows_skipped_total{table="verification"} 1"#))
    #expect(try await bench.start().resent == false)
    bench.clock.advance(by: .seconds(86_400))
    _ = try await bench.sweep()
    #expect(try await bench.dump("verification").contains(unreadable) == false)
  }

  @Test func `An assessment is skipped: what else waits is answered`() async throws {
    await bench.deliver([
      try bench.message(
        bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp), replyTo: "amq.gen-first"),
      try bench.message(
        bench.startCommand(Bench.captcha("u"), app: Bench.recaptchaApp, number: Self.other), replyTo: "amq.gen-second"
      ),
    ])
    try await bench.run(
      "UPDATE store_record SET body = x'63' WHERE kind = 'assessment' AND instr(body, CAST('gen-first' AS BLOB)) > 0")
    bench.clock.advance(by: .seconds(10))
    _ = try await bench.sweep()
    _ = bench.sink.takePublished()
    _ = try await bench.relay()
    #expect(bench.sink.published.map(\.routingKey) == ["amq.gen-second"])
    #expect(bench.registry.render().contains(#"countersign_rows_skipped_total{table="assessment"} 1"#))
  }

  @Test func `A start goes on past a verification and a block`() async throws {
    let id = try await bench.start().verificationID
    _ = try await bench.ask(CancelVerification(verificationID: id))
    try await bench.damage("verification")
    try await bench.run(
      """
      INSERT INTO store_record (number, kind, id, version, discard, format, keys, body)
      VALUES (1000000, 'conversionBlock', 'k', 1, 1, 1, x'', x'63')
      """)
    try await bench.restart()
    let next = try await bench.start()
    #expect(next.verificationID != id)
    #expect(try await bench.count("verification") == 2)
  }

  // MARK: Jobs that nobody took

  @Test func `A job that is dropped at its deadline ends the revocation that waits for it, with the reason`()
    async throws
  {
    bench.sink.answer { $0.exchange == Topology.Exchanges.jobs ? .nacked : .confirmed }
    let reply = try await bench.ask(
      StartRevocation(
        app: Bench.app, clientID: "com.example.web", token: AppleToken(.refreshToken, SecretField(Secret("token"))),
        redirectURI: "https://example.com/"))
    let id = try OperationStarted(json: reply.body).operationID
    let deadline = try await bench.operation(id).expiresAt
    bench.clock.advance(by: deadline - bench.clock.now())
    _ = bench.sink.takePublished()
    _ = try await bench.relay()
    #expect(bench.events() == ["operation.failed"])
    let status = try await bench.operation(id)
    #expect(status.state == .failed)
    #expect(status.ending == .expired)
    #expect(status.failure?.code == "NOT_TAKEN")
    _ = try await bench.relay()
    #expect(try await bench.count("outbox") == 0)
    #expect(bench.engineMetrics.outboxMessages.value == 0)
  }
}
