import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import Coordination

@Suite("Outbox, results and deadlines")
struct OutboxTests {
  private let start = StartVerification(phoneNumber: Bench.number, app: Bench.app)

  @Test("Published messages are deleted with the next batch")
  func publishedMessagesAreDeletedWithTheNextBatch() async throws {
    try await Bench.with { bench in
      let id = try await bench.start().verificationID
      #expect(try await bench.count("outbox") == 1)
      _ = try await bench.ask(CancelVerification(verificationID: id))
      #expect(try await bench.count("outbox") == 1)
      try await bench.relay.deleteConfirmed()
      #expect(try await bench.count("outbox") == 0)
      #expect(bench.metrics.outboxMessages.value == 0)
    }
  }

  @Test("Killed between commit and publish: the next start publishes, the command that comes again gets the same reply")
  func killedBetweenCommitAndPublishTheNextStartPublishesTheCommand() async throws {
    try await Bench.with { bench in
      bench.sink.close()
      let message = try bench.commandMessage(start, id: "m")
      let source = await bench.deliver([message])
      #expect(source.ackedCount == 0)
      #expect(try await bench.count("outbox") == 1)
      bench.sink.open()
      try await bench.relay.takeOver()
      #expect(try await bench.relay.relay() == false)
      #expect(try bench.jobs().count == 1)
      #expect(bench.events() == ["verification.started"])
      #expect(try await bench.count("outbox") == 0)
      await bench.deliver([message])
      #expect(try bench.jobs().count == 1)
      #expect(bench.sink.published.last?.message.type == "verification.started.v1")
    }
  }

  @Test("A job that no queue takes is kept and tried again; what was taken is not published twice")
  func aJobThatNoQueueTakesIsKeptAndTriedAgainWhatWasTaken() async throws {
    try await Bench.with { bench in
      bench.sink.answer { $0.exchange == Topology.Exchanges.jobs ? .returned(code: 312, text: "NO_ROUTE") : .confirmed }
      let message = try bench.commandMessage(start)
      let source = await bench.deliver([message])
      #expect(source.ackedCount == 1)
      await bench.deliver([
        try bench.commandMessage(StartVerification(phoneNumber: "+14155550177", app: Bench.app))
      ])
      let alarms = bench.logs.events.filter { $0.level == .error }
      #expect(alarms.count == 1)
      #expect(bench.metrics.outboxMessages.value == 2)
      #expect(bench.metrics.undelivered.value == 2)
      _ = bench.sink.takePublished()
      _ = try await bench.relay.relay()
      #expect(bench.sink.published.isEmpty)
      bench.clock.advance(by: .seconds(5))
      bench.sink.answer { _ in .confirmed }
      _ = try await bench.relay.relay()
      #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.jobs, Topology.Exchanges.jobs])
      #expect(try await bench.count("outbox") == 0)
      #expect(bench.metrics.outboxMessages.value == 0)
    }
  }

  @Test("A job that nobody took while its code was valid is dropped")
  func aJobThatNobodyTookWhileItsCodeWasValidIsDropped() async throws {
    try await Bench.with { bench in
      bench.sink.answer { $0.exchange == Topology.Exchanges.jobs ? .nacked : .confirmed }
      await bench.deliver([try bench.commandMessage(start)])
      bench.clock.advance(by: .seconds(301))
      _ = bench.sink.takePublished()
      _ = try await bench.relay.relay()
      #expect(bench.sink.published.isEmpty)
      _ = try await bench.relay.relay()
      #expect(try bench.jobs().isEmpty)
      #expect(try await bench.count("outbox") == 0)
      #expect(bench.metrics.outboxMessages.value == 0)
    }
  }

  @Test("A requester that is gone is no error")
  func requesterGone() async throws {
    try await Bench.with { bench in
      bench.sink.answer { $0.exchange.isEmpty ? .returned(code: 312, text: "NO_ROUTE") : .confirmed }
      let source = await bench.deliver([try bench.commandMessage(start)])
      #expect(source.ackedCount == 1)
      #expect(source.rejectedCount == 0)
      #expect(bench.metrics.requesterGone.value == 1)
    }
  }

  @Test("Messages survive being stored")
  func messagesSurviveBeingStored() {
    let message = OutgoingMessage(
      duty: .kept, exchange: "e", routingKey: "", type: "t.v1", messageID: "m", correlationID: nil, causationID: "c",
      traceparent: nil, timestamp: UnixTime(milliseconds: -5), discardAfter: UnixTime(seconds: 9), body: [1, 2, 3])
    var other = message
    other.discardAfter = nil
    other.body = []
    other.correlationID = ""
    let bytes = OutboxCodec.encode([message, other])
    #expect(OutboxCodec.decode(bytes) == [message, other])
    #expect(OutboxCodec.decode([]) == nil)
    #expect(OutboxCodec.decode(OutboxCodec.encode([])) == [])
    for length in 1..<bytes.count {
      // Cut between the two it is one message; anywhere else it is nothing.
      let cut = OutboxCodec.decode(Array(bytes[..<length]))
      #expect(cut == nil || cut == [] || cut == [message])
    }
  }

  // MARK: Results

  @Test("A worker's report is told of, and stands in the timeline")
  func aWorkersReportIsToldOfAndStandsInTheTimeline() async throws {
    try await Bench.with { bench in
      let id = try await bench.start().verificationID
      _ = bench.sink.takePublished()
      let source = await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
      #expect(source.ackedCount == 1)
      #expect(bench.events() == ["verification.sent"])
      let status = try await bench.status(id)
      #expect(status.state == .sent)
      #expect(status.timeline.map(\.event) == ["started", "sms.queued", "sms.accepted"])
      let entry = try #require(status.timeline.last)
      #expect(entry.lane == "twilio-eu")
      #expect(entry.worker == "sms-worker")
      #expect(entry.reference == "SM1")
      #expect(entry.segments == 1)
    }
  }

  @Test("A report that comes twice, late, or for nobody changes nothing and is acknowledged")
  func aReportThatComesTwiceLateOrForNobodyChangesNothing() async throws {
    try await Bench.with { bench in
      let id = try await bench.start().verificationID
      let report = try bench.result("\(id).sms.1", .accepted)
      await bench.deliverResults([report])
      _ = bench.sink.takePublished()
      let source = await bench.deliverResults([
        report, try bench.result("\(id).sms.1", .refused), try bench.result("\(id).sms.2", .refused),
        try bench.result("AAAAAAAAAAAAAAAAAAAAAA.sms.1", .accepted), try bench.result("somebody-elses", .accepted),
      ])
      #expect(source.ackedCount == 5)
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.status(id).state == .sent)
    }
  }

  @Test("A refused message fails the verification, with the reason of the provider")
  func aRefusedMessageFailsTheVerificationWithTheReason() async throws {
    try await Bench.with { bench in
      let id = try await bench.start().verificationID
      _ = bench.sink.takePublished()
      let reason = JobResult.Reason(code: "INVALID_NUMBER", detail: "not a\tnumber", providerCode: "21211")
      await bench.deliverResults([try bench.result("\(id).sms.1", .refused, reason: reason)])
      let event = try #require(bench.sink.published.first)
      #expect(event.routingKey == "verification.failed")
      #expect(try VerificationFailed(json: event.message.body).failure.code == "INVALID_NUMBER")
      let status = try await bench.status(id)
      #expect(status.state == .failed)
      #expect(status.failure?.code == "INVALID_NUMBER")
      #expect(status.timeline.first { $0.event == "sms.refused" }?.detail == "not a number; provider code 21211")
      #expect(try await bench.checkError(id, "123456") == .sessionExpired)
    }
  }

  // MARK: Deadlines

  @Test("Due verifications expire with an event and are deleted after the retention")
  func dueVerificationsExpireWithAnEventAndAreDeletedAfter() async throws {
    try await Bench.with { bench in
      let id = try await bench.start().verificationID
      _ = bench.sink.takePublished()
      #expect(try await bench.sweeper.sweep() == false)
      bench.clock.advance(by: .seconds(300))
      _ = try await bench.sweeper.sweep()
      #expect(bench.sink.published.isEmpty)
      _ = try await bench.relay.relay()
      #expect(bench.events() == ["verification.expired"])
      #expect(try await bench.status(id).state == .expired)
      bench.clock.advance(by: .seconds(86_399))
      _ = try await bench.sweeper.sweep()
      #expect(try await bench.count("verification") == 1)
      bench.clock.advance(by: .seconds(1))
      _ = try await bench.sweeper.sweep()
      #expect(try await bench.count("verification") == 0)
      #expect(try await bench.checkError(id, "123456") == .invalidSessionInfo)
    }
  }

  @Test("Old replies and old counts are deleted")
  func oldRepliesAndOldCountsAreDeleted() async throws {
    try await Bench.with { bench in
      let purger = Purger(database: bench.database, inboxRetention: .seconds(3600), clock: bench.clock)
      _ = try await bench.start()
      #expect(try await bench.count("inbox") == 1)
      #expect(try await bench.count("usage") == 4)
      _ = try await purger.purgeInbox()
      #expect(try await !purger.purgeUsage())
      #expect(try await bench.count("inbox") == 1)
      #expect(try await bench.count("usage") == 4)
      bench.clock.advance(by: .seconds(86_400))
      _ = try await purger.purgeInbox()
      _ = try await purger.purgeUsage()
      #expect(try await bench.count("inbox") == 0)
      #expect(try await bench.count("usage") == 0)
    }
  }

  // MARK: Bad input

  @Test("Bad input with a requester is answered, without one it is a dead letter; the others are not touched")
  func badInputWithARequesterIsAnsweredWithoutOneItIsADeadLetter() async throws {
    try await Bench.with { bench in
      let good = try bench.commandMessage(start)
      var noJSON = good
      noJSON.body = Array("no json".utf8)
      noJSON.messageID = "bad1"
      var unknownType = good
      unknownType.type = "verification.start.v9"
      unknownType.replyTo = nil
      var noField = good
      noField.body = Array("{}".utf8)
      noField.messageID = "bad3"
      noField.replyTo = nil
      var wrongContent = good
      wrongContent.contentType = "text/plain"
      var tooLarge = good
      tooLarge.body = [UInt8](repeating: 32, count: 65_537)
      let source = await bench.deliver([noJSON, unknownType, good, noField, wrongContent, tooLarge])
      #expect(source.ackedCount == 6)
      let dead = bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }
      #expect(dead.map(\.routingKey) == ["coordinator.commands", "coordinator.commands"])
      #expect(
        dead.map { $0.message.headers["x-dead-reason"] } == [
          .string("UNKNOWN_VERSION"), .string("MISSING_PHONE_NUMBER"),
        ])
      #expect(dead[0].message.body == unknownType.body)
      let replies = bench.sink.published.filter { $0.exchange.isEmpty }.map(\.message.type)
      #expect(replies.filter { $0 == "error.v1" }.count == 3)
      #expect(replies.filter { $0 == "verification.started.v1" }.count == 1)
    }
  }

  @Test(
    "An envelope that the broker lets pass and nobody could publish again is told or buried, with the property's name")
  func badProperties() async throws {
    try await Bench.with { bench in
      var correlation = try bench.commandMessage(start)
      correlation.correlationID = nil
      correlation.malformedProperties = ["correlation_id"]
      var address = try bench.commandMessage(start, replyTo: nil)
      address.malformedProperties = ["reply_to"]
      var control = try bench.commandMessage(start)
      control.replyTo = "reply\nqueue"
      var deep = try bench.commandMessage(start, replyTo: nil)
      deep.headers["x"] = (0..<16).reduce(FieldValue.null) { value, _ in .array([value]) }
      let source = await bench.deliver([correlation, address, control, deep])
      #expect(source.ackedCount == 4)
      let dead = bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }.map(\.message)
      #expect(dead.map { $0.headers["x-dead-reason"] } == Array(repeating: "INVALID_FIELD", count: 3))
      #expect(dead.map { $0.headers["x-last-error"]?.stringValue?.prefix(8) } == ["reply_to", "reply_to", "headers "])
      let reply = try #require(bench.sink.published.first { $0.exchange.isEmpty })
      #expect(bench.sink.published.count == 4)
      #expect(reply.message.type == "error.v1" && reply.message.correlationID == nil)
    }
  }

  @Test("A dead letter that the broker does not take is left to the broker")
  func deadLetterNotTaken() async throws {
    try await Bench.with { bench in
      bench.sink.answer { $0.exchange == Topology.Exchanges.dead ? .returned(code: 312, text: "NO_ROUTE") : .confirmed }
      var message = try bench.commandMessage(start, replyTo: nil)
      message.type = "nothing"
      let source = await bench.deliver([message])
      #expect(source.ackedCount == 0)
      #expect(source.rejectedCount == 1)
    }
  }
}
