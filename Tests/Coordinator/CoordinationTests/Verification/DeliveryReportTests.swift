import CountersignAMQP
import CountersignMessages
import TestSupport
import Testing

@testable import Coordination

@Suite struct DeliveryReportTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func report(
    _ bench: Bench, _ jobID: String?, _ state: SMSDeliveryReport.State, reason: JobResult.Reason? = nil
  ) throws -> Message {
    let delivery = SMSDeliveryReport(
      jobID: jobID, state: state, lane: "twilio-eu", reference: "SM1", reason: reason, at: bench.clock.now())
    let envelope = Envelope(
      type: SMSDeliveryReport.type, messageID: delivery.messageID, correlationID: "any", appID: "sms-worker")
    return envelope.message(body: try delivery.json())
  }

  @Test func `A delivered message is told of once, and stands in the timeline`() async throws {
    let id = try await bench.start().verificationID
    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    _ = bench.sink.takePublished()
    let message = try report(bench, "\(id).sms.1", .delivered)
    let source = await bench.deliverResults([message, message])
    await bench.deliverResults([message])
    #expect(source.ackedCount == 2)
    #expect(bench.events() == ["verification.delivered"])
    let event = try #require(bench.sink.published.first?.message)
    #expect(event.messageID == "\(id).delivered.1" && event.correlationID == id)
    let body = try VerificationDelivered(json: event.body)
    #expect(body.verificationID == id && body.job == 1 && body.lane == "twilio-eu" && body.reference == "SM1")
    let entry = try #require(try await bench.status(id).timeline.last)
    #expect(entry.event == "sms.delivered" && entry.lane == "twilio-eu" && entry.reference == "SM1")
  }

  @Test func `One that was not delivered has its reason; the verification goes on, and may yet be delivered`()
    async throws
  {
    let id = try await bench.start().verificationID
    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    _ = bench.sink.takePublished()
    let reason = JobResult.Reason(code: "UNKNOWN_NUMBER", detail: "not in service", providerCode: "30005")
    await bench.deliverResults([try report(bench, "\(id).sms.1", .undelivered, reason: reason)])
    let body = try VerificationUndelivered(json: try #require(bench.sink.published.first).message.body)
    #expect(body.reason == .init(code: "UNKNOWN_NUMBER", detail: "not in service; provider code 30005"))
    #expect(try await bench.status(id).state == .sent)
    _ = bench.sink.takePublished()
    await bench.deliverResults([try report(bench, "\(id).sms.1", .delivered)])
    await bench.deliverResults([try report(bench, "\(id).sms.1", .undelivered)])
    #expect(bench.events() == ["verification.delivered"])
    let events = try await bench.status(id).timeline.map(\.event)
    #expect(events.suffix(2) == ["sms.undelivered", "sms.delivered"])
  }

  @Test func `A report that overtakes the worker's proves that the message was taken`() async throws {
    let id = try await bench.start().verificationID
    _ = bench.sink.takePublished()
    await bench.deliverResults([try report(bench, "\(id).sms.1", .delivered)])
    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    #expect(bench.events() == ["verification.sent", "verification.delivered"])
    #expect(try await bench.status(id).state == .sent)
  }

  @Test func `Reports on somebody else's message, on none, and on a verification that is not there change nothing`()
    async throws
  {
    let id = try await bench.start().verificationID
    _ = bench.sink.takePublished()
    let source = await bench.deliverResults([
      try report(bench, "somebody-elses", .delivered), try report(bench, nil, .delivered),
      try report(bench, "\(id).sms.2", .delivered), try report(bench, "AAAAAAAAAAAAAAAAAAAAAA.sms.1", .delivered),
    ])
    #expect(source.ackedCount == 4 && bench.sink.published.isEmpty)
  }

  @Test func `After the end it is still told of, and nothing else changes`() async throws {
    let id = try await bench.start().verificationID
    _ = try await bench.ask(CancelVerification(verificationID: id))
    _ = bench.sink.takePublished()
    await bench.deliverResults([try report(bench, "\(id).sms.1", .delivered)])
    #expect(bench.events() == ["verification.delivered"])
    #expect(try await bench.status(id).state == .canceled)
  }

  @Test func `Malformed reports become dead letters`() async throws {
    let envelope = Envelope(type: SMSDeliveryReport.type, messageID: "m")
    let source = await bench.deliverResults([envelope.message(body: Array("{}".utf8))])
    #expect(source.ackedCount == 1)
    #expect(bench.sink.published.map(\.exchange) == ["countersign.dead"])
  }
}
