import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import ServiceRuntime
import TestSupport
import Testing

@testable import Coordination

/// A message that AMQP has no room for must hold up nothing else.
@Suite("Messages that cannot be published")
struct UnpublishableTests {
  private static let tooLong = String(repeating: "c", count: 300)

  /// A start that waits for reCAPTCHA, as an older version took it: its correlation ID fits into no reply.
  private func waiting(_ bench: Bench) async throws -> String {
    let message = try bench.commandMessage(
      bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp), id: "waiting")
    _ = bench.sink.takePublished()
    await bench.deliver([message])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
    let long = Self.tooLong
    try await bench.database.write { session throws(DatabaseError) -> Void in
      try session.execute(
        "UPDATE assessment SET command = json_set(command, '$.correlationID', ?)", [.text(long)])
    }
    _ = bench.sink.takePublished()
    return job
  }

  @Test("A reply that cannot be published is buried; the jobs and events of its batch go out, and all is acknowledged")
  func aReplyThatCannotBePublishedIsBuriedTheJobsAndEvents() async throws {
    try await Bench.with { bench in
      let job = try await waiting(bench)
      let other = try await bench.start("+14155550177").verificationID
      _ = bench.sink.takePublished()
      let source = await bench.deliverResults([
        try bench.report(RecaptchaAssessJob.self, job, .accepted), try bench.result("\(other).sms.1", .accepted),
      ])
      #expect(source.ackedCount == 2)
      #expect(try bench.published(SMSDispatchJob.self).count == 1)
      #expect(Set(bench.events()) == ["app.verified", "verification.started", "verification.sent"])
      #expect(bench.replies().isEmpty)
      let dead = try #require(bench.sink.published.first { $0.exchange == Topology.Exchanges.dead })
      #expect(dead.routingKey == Topology.Queues.commands)
      #expect(dead.message.headers[MessageHeader.deadReason] == .string("UNPUBLISHABLE"))
      #expect(dead.message.messageID == "waiting.reply")
      #expect(dead.message.correlationID == nil)
      #expect(dead.message.type == "verification.started.v1")
      #expect(bench.metrics.unpublishable.value == 1)
      #expect(bench.metrics.outboxMessages.value == 0)
      try await bench.relay.deleteConfirmed()
      #expect(try await bench.count("outbox") == 0)
    }
  }

  @Test("The relay goes on past it: what is behind it is published, also what a version before left")
  func theRelayGoesOnPastItWhatIsBehindItIsPublishedAlsoWhat() async throws {
    try await Bench.with { bench in
      _ = try await waiting(bench)
      bench.clock.advance(by: .seconds(10))
      _ = try await bench.operationSweeper.sweep()
      bench.sink.close()
      await bench.deliver([
        try bench.commandMessage(StartVerification(phoneNumber: "+14155550177", app: Bench.app))
      ])
      bench.sink.open()
      try await bench.relay.takeOver()
      #expect(try await bench.relay.relay() == false)
      #expect(try bench.published(SMSDispatchJob.self).count == 1)
      #expect(bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }.count == 1)
      #expect(try await bench.count("outbox") == 0)
      #expect(bench.metrics.outboxMessages.value == 0)
      _ = bench.sink.takePublished()
      _ = try await bench.relay.relay()
      #expect(bench.sink.published.isEmpty)
    }
  }

  @Test("A dead letter that the broker does not take leaves the message where it is, and is tried again")
  func burialRefused() async throws {
    try await Bench.with { bench in
      _ = try await waiting(bench)
      bench.clock.advance(by: .seconds(10))
      _ = try await bench.operationSweeper.sweep()
      bench.sink.answer { $0.exchange == Topology.Exchanges.dead ? .nacked : .confirmed }
      _ = try await bench.relay.relay()
      #expect(try await bench.count("outbox") == 1)
      bench.sink.answer { _ in .confirmed }
      bench.clock.advance(by: .seconds(5))
      _ = try await bench.relay.relay()
      #expect(try await bench.count("outbox") == 0)
      #expect(bench.metrics.unpublishable.value == 1)
    }
  }

  @Test("Readiness and the log tell of it, for a while")
  func readinessAndTheLogTellOfItForAWhile() async throws {
    try await Bench.with { bench in
      #expect(bench.outbox.health.state == .ok)
      _ = try await waiting(bench)
      bench.clock.advance(by: .seconds(10))
      _ = try await bench.operationSweeper.sweep()
      _ = try await bench.relay.relay()
      guard case .failing(let what, _) = bench.outbox.health.state else {
        Issue.record("the outbox says that all is well")
        return
      }
      #expect(what.contains("correlation ID"))
      #expect(bench.logs.events.contains { $0.level == .error && "\($0.message)".contains("cannot be published") })
      bench.clock.advance(by: OutboxHealth.memory)
      #expect(bench.outbox.health.state == .ok)
    }
  }

  @Test("A dead letter is publishable whatever was wrong with the message")
  func aDeadLetterIsPublishableWhateverWasWrongWithTheMessage() async throws {
    let long = String(repeating: "é", count: 5_000)
    let message = OutgoingMessage(
      duty: .kept, exchange: Topology.Exchanges.jobs, routingKey: Topology.Queues.smsDispatch, type: long,
      messageID: long, correlationID: long, causationID: long, traceparent: long, timestamp: UnixTime(seconds: -1),
      discardAfter: nil, body: [UInt8](repeating: 32, count: 4 << 20))
    let burial = message.burial(AMQPError(.tooLarge, long), by: Bench.author, at: UnixTime(seconds: 0))
    let sink = Bench.makeSink()
    #expect(try await sink.publish([burial]) == [.confirmed])
    #expect(burial.routingKey == Topology.Queues.smsDispatch)
    #expect(burial.message.body.isEmpty)
  }
}
