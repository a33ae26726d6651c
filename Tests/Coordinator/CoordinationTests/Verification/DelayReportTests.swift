import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct DelayReportTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func delay(_ bench: Bench, _ id: String, _ reason: String, attempts: Int = 1, next: Duration = .seconds(5))
    -> Delivery
  {
    bench.delay(of: SMSDispatchJob.type, "\(id).sms.1", reason, attempts: attempts, next: next)
  }

  @Test func `A delayed SMS shows with its last error until its end`()
    async throws
  {
    let id = try await bench.start().verificationID
    await bench.deliverResults([delay(bench, id, "PROVIDER_UNAVAILABLE")])
    var timeline = try await bench.status(id).timeline
    #expect(timeline.map(\.event) == ["started", "sms.queued", "sms.delayed"])
    let entry = try #require(timeline.last)
    #expect(entry.job == 1 && entry.reason == "PROVIDER_UNAVAILABLE" && entry.worker == "worker")
    #expect(entry.detail == "because; provider code 503" && entry.attempts == 1)
    #expect(entry.nextAttemptAt == bench.clock.now() + .seconds(5))

    bench.clock.advance(by: .seconds(5))
    await bench.deliverResults([delay(bench, id, "LANE_BUSY", attempts: 2, next: .seconds(30))])
    timeline = try await bench.status(id).timeline
    #expect(timeline.map(\.event) == ["started", "sms.queued", "sms.delayed"])
    #expect(timeline.last?.reason == "LANE_BUSY" && timeline.last?.attempts == 2)

    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    let status = try await bench.status(id)
    #expect(status.timeline.map(\.event) == ["started", "sms.queued", "sms.delayed", "sms.accepted"])
    #expect(status.state == .sent)
  }

  @Test func `A repeated, an overtaken and a late report change nothing`() async throws {
    let id = try await bench.start().verificationID
    let first = delay(bench, id, "FIRST")
    bench.clock.advance(by: .seconds(1))
    await bench.deliverResults([delay(bench, id, "SECOND", attempts: 2, next: .seconds(30))])
    let before = try await bench.status(id).timeline
    let again = delay(bench, id, "SECOND", attempts: 2, next: .seconds(30))
    bench.clock.advance(by: .seconds(1))
    await bench.deliverResults([again, first])
    #expect(try await bench.status(id).timeline == before)

    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    let ended = try await bench.status(id).timeline
    await bench.deliverResults([delay(bench, id, "LATE", attempts: 3, next: .seconds(600))])
    #expect(try await bench.status(id).timeline == ended)
  }

  @Test func `A verification that has ended takes none`() async throws {
    let id = try await bench.start().verificationID
    _ = try await bench.ask(CancelVerification(verificationID: id))
    let ended = try await bench.status(id).timeline
    await bench.deliverResults([delay(bench, id, "LATE")])
    #expect(try await bench.status(id).timeline == ended)
  }

  @Test func `A delay that its worker has not reported is forged, and one of another sender's job is dropped`()
    async throws
  {
    let id = try await bench.start().verificationID
    let before = try await bench.status(id).timeline
    _ = bench.sink.takePublished()
    let job = "\(id).sms.1"
    var otherKey = bench.delay(of: SMSDispatchJob.type, job, "X")
    otherKey = Delivery(
      message: otherKey.message, exchange: Topology.Exchanges.results, routingKey: "sms.dispatch.accepted")
    await bench.deliverResults([
      bench.delay(of: SMSDispatchJob.type, job, "X", user: "mail-worker"), otherKey,
      bench.delay(of: SMSDispatchJob.type, job, "X", sender: "sender"),
      bench.delay(of: SMSDispatchJob.type, "\(id).sms.7", "X"), bench.delay(of: SMSDispatchJob.type, "other", "X"),
      // Of operations that last for seconds, and of a job type that this version does not know.
      bench.delay(of: PushVerifyJob.type, "\(id).push.1", "X"),
      bench.delay(of: MessageType("sms.other"), job, "X", user: "sms-worker"),
    ])
    let dead = bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }
    #expect(dead.map { $0.message.headers[MessageHeader.deadReason] } == ["FORGED_RESULT", "FORGED_RESULT"])
    #expect(bench.sink.published.count == 2)
    #expect(try await bench.status(id).timeline == before)
  }

  @Test func `However often its jobs are delayed a timeline stays short`()
    async throws
  {
    let id = try await bench.start().verificationID
    let size = try await bench.status(id).timeline.count + 1
    for attempt in 1...100 {
      bench.clock.advance(by: .milliseconds(100))
      await bench.deliverResults([delay(bench, id, "REASON_\(attempt)", attempts: attempt)])
    }
    let timeline = try await bench.status(id).timeline
    #expect(timeline.count == size && timeline.last?.reason == "REASON_100")
  }

  @Test func `The SMS that became a dead letter ends its verification with the reason`() async throws {
    let id = try await bench.start().verificationID
    _ = bench.sink.takePublished()
    let reason = JobResult.Reason(code: "INVALID_MESSAGE", detail: "UNKNOWN_KEY: variables.code is sealed with k2")
    await bench.deliverResults([try bench.result("\(id).sms.1", .refused, reason: reason)])
    #expect(bench.events() == ["verification.failed"])
    let status = try await bench.status(id)
    #expect(status.state == .failed && status.failure?.code == "INVALID_MESSAGE")
    #expect(status.timeline.contains { $0.event == "sms.refused" && $0.detail == reason.detail })
  }
}

extension RevocationTests {
  @Test func `Delays show in the step that they belong to`() {
    let (now, policy) = (UnixTime(seconds: 1_000_000), RevocationPolicy())
    var revocation = Revocation(
      id: "o", app: "a", tokenHash: [1], notice: .init(email: "a@example.com"), at: now, under: policy)
    _ = revocation.apply(.started, at: now, under: policy)
    func delay(_ seconds: Int) -> DelayReport {
      DelayReport(
        reason: VerificationFailure(code: "BUSY"), attempts: 1, nextAttemptAt: now + .seconds(seconds))
    }
    #expect(revocation.apply(.noticeDelayed(delay(5)), at: now, under: policy) == [])
    #expect(revocation.apply(.revokeDelayed(delay(5)), at: now, under: policy) == [])
    _ = revocation.apply(.revokeFinished(JobReport(number: 1, outcome: .accepted)), at: now, under: policy)
    #expect(revocation.apply(.revokeDelayed(delay(30)), at: now, under: policy) == [])
    #expect(revocation.apply(.noticeDelayed(delay(30)), at: now, under: policy) == [])
    let shown = revocation.timeline.entries.map(\.kind)
    #expect(shown == [.started, .revokeQueued, .revokeDelayed, .revokeAccepted, .noticeQueued, .noticeDelayed])
  }
}
