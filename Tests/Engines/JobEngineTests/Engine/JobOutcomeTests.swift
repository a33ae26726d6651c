import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

@Suite struct JobOutcomeTests {
  private let noRoute = Reason("CONNECT_FAILED", "The provider could not be reached.")
  private let timedOut = Reason("TIMED_OUT", "No answer came.")
  private let badNumber = Reason("INVALID_NUMBER", "No such number.", providerCode: "21211")

  @Test func `An accepted job is reported to all and then acknowledged`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { _, _ in .accepted(reference: "SM1", extras: ["segments": 2]) }
      let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      let number = try await worker.process(
        job(replyTo: "amq.gen-reply-queue", headers: [MessageHeader.traceparent: .string(trace)]))

      let result = try worker.result()
      #expect(
        result
          == JobResult(
            jobID: "job-1", outcome: .accepted, lane: "a", reference: "SM1", attempts: 1, startedAt: start,
            finishedAt: start
          ).adding(["segments": 2]))
      let publication = worker.published(to: Topology.Exchanges.results)[0]
      #expect(publication.routingKey == "test.job.accepted")
      #expect(publication.mandatory)
      let message = publication.message
      #expect(message.messageID == "job-1.result")
      #expect(message.correlationID == "verification-1")
      #expect(message.type == "test.job.result.v1")
      #expect(message.appID == "test-worker")
      #expect(message.isPersistent)
      #expect(message.headers[MessageHeader.causationID] == "job-1")
      let passedOn = try #require(message.headers[MessageHeader.traceparent]?.stringValue)
      #expect(passedOn.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") && passedOn != trace)

      let copy = worker.published(to: "")[0]
      #expect(copy.routingKey == "amq.gen-reply-queue")
      #expect(copy.message == message)
      #expect(
        worker.journal.all == [
          .claimed("job-1"), .performed("job-1", lane: "a"), .settled("job-1"),
          .published(exchange: Topology.Exchanges.results, routingKey: "test.job.accepted"),
          .published(exchange: "", routingKey: "amq.gen-reply-queue"), .acked(number),
        ])
    }
  }

  @Test func `A refused job is reported with the providers reason`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onCall { [badNumber] _, _ in .refused(badNumber, extras: ["suppress": true]) }
      try await worker.process(job())
      let result = try worker.result()
      #expect(result.outcome == .refused)
      #expect(
        result.reason
          == JobResult.Reason(code: "INVALID_NUMBER", detail: "No such number.", providerCode: "21211"))
      #expect(result.extras == ["suppress": true])
      #expect(worker.published(to: Topology.Exchanges.results)[0].routingKey == "test.job.refused")
    }
  }

  @Test func `A handlers refusal needs no call`() async throws {
    try await withWorker { worker in
      worker.handler.onPrepare { [badNumber] _ in .refused(badNumber) }
      try await worker.process(job())
      #expect(try worker.result().outcome == .refused)
      #expect(try worker.result().attempts == 0)
      #expect(!worker.journal.contains(.performed("job-1", lane: "a")))
    }
  }

  @Test func `A job for lanes of others is refused`() async throws {
    try await withWorker { worker in
      try await worker.process(job(lanes: ["elsewhere"]))
      #expect(try worker.result().reason?.code == "UNKNOWN_LANE")
    }
  }

  @Test func `A job past its deadline expires without a call`() async throws {
    try await withWorker { worker in
      try await worker.process(
        job(deadline: start, headers: [MessageHeader.lastError: .string(timedOut.description)]))
      let result = try worker.result()
      #expect(result.outcome == .expired)
      #expect(result.reason == JobResult.Reason(code: "TIMED_OUT", detail: "No answer came."))
      #expect(!worker.journal.contains(.performed("job-1", lane: "a")))
    }
  }

  @Test func `A retry is confirmed in its step before the job is acknowledged`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [noRoute] _, _ in .retry(noRoute) }
      let number = try await worker.process(job(replyTo: "amq.gen-reply-queue"))
      let delayed = try worker.delayed()
      #expect(delayed.exchange == "countersign.retry.test.job")
      #expect(delayed.routingKey == RetryStep.fiveSeconds.rawValue)
      #expect(delayed.mandatory)
      #expect(delayed.message.messageID == "job-1")
      #expect(delayed.message.replyTo == "amq.gen-reply-queue")
      #expect(delayed.message.headers[MessageHeader.attempt] == 2)
      #expect(delayed.message.headers[MessageHeader.firstAttemptAt] == .string(start.rfc3339))
      #expect(delayed.message.headers[MessageHeader.lastError] == .string(noRoute.description))
      #expect(delayed.message.headers[MessageHeader.nextAttemptAt] == .string((start + .seconds(5)).rfc3339))
      #expect(
        worker.journal.all.suffix(3) == [
          .published(exchange: delayed.exchange, routingKey: "5s"),
          .published(exchange: Topology.Exchanges.results, routingKey: "test.job.delayed"), .acked(number),
        ])
      #expect(worker.published(to: Topology.Exchanges.results).isEmpty)
    }
  }

  /// Only where the provider reports by nothing else: the index would cost the others for nothing.
  @Test func `A job is found by its reference where its lane wants that`() async throws {
    for lanes in [[], ["a"], ["b"]] as [Set<String>] {
      var options = WorkerHarness.options
      options.matchedLanes = lanes
      let ledger = MemoryLedger()
      try await withWorker(ledger: ledger, options: options) { worker in
        worker.handler.onCall { _, _ in .accepted(reference: "m1") }
        try await worker.process(job())
        let expected = LedgerMatch(lane: "a", reference: "m1", correlationID: "verification-1")
        #expect(ledger.match(of: "job-1") == (lanes.contains("a") ? expected : nil))
        worker.handler.onCall { [badNumber] _, _ in .refused(badNumber) }
        try await worker.process(job("job-2"))
        #expect(ledger.match(of: "job-2") == nil)
      }
    }
  }

  /// A type of job may have a second queue. The job comes back to it and dies from it, and its result names it; the type is the same.
  @Test func `A job of a second queue comes back to it`() async throws {
    var options = WorkerHarness.options
    options.queue = "test.bulk"
    try await withWorker(options: options) { worker in
      worker.handler.onCall { [noRoute] _, _ in .retry(noRoute) }
      try await worker.process(job())
      #expect(try worker.delayed().exchange == "countersign.retry.test.bulk")
      #expect(worker.delayReports.isEmpty, "no queue is bound to them")
      worker.handler.onCall { _, _ in .accepted(reference: nil) }
      try await worker.process(job("job-2"))
      let result = worker.published(to: Topology.Exchanges.results)[0]
      #expect(result.routingKey == "test.bulk.accepted" && result.message.type == "test.job.result.v1")
      #expect(!result.mandatory, "no queue has to be bound to it")
      var broken = try job("job-3")
      broken.type = "test.job.v9"
      try await worker.process(broken)
      let dead = worker.published(to: Topology.Exchanges.dead)[0]
      #expect(dead.routingKey == "test.bulk" && dead.message.headers[MessageHeader.deadQueue] == "test.bulk")
      #expect(worker.published(to: Topology.Exchanges.results).count == 1, "the dead letter has no listener")
      #expect(
        worker.registry.render().contains(
          "countersign_jobs_total{type=\"test.bulk\",lane=\"a\",outcome=\"accepted\"} 1"))
    }
  }

  @Test func `The second attempt is the one that counts`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [noRoute] _, attempt in attempt.number == 1 ? .retry(noRoute) : .accepted(reference: "x")
      }
      try await worker.process(job())
      let again = try worker.delayed().message
      worker.clocks.advance(by: .seconds(5))
      try await worker.process(again)
      let result = try worker.result()
      #expect(result.outcome == .accepted)
      #expect(result.attempts == 2)
      #expect(result.startedAt == start)
      #expect(result.finishedAt == start + .seconds(5))
    }
  }

  @Test func `The second lane is taken at once`() async throws {
    try await withWorker(lanes: [LaneConfiguration(name: "a"), LaneConfiguration(name: "b")]) { worker in
      worker.handler.onCall { [noRoute] lane, _ in lane == "a" ? .retry(noRoute) : .accepted(reference: lane) }
      try await worker.process(job(lanes: ["a", "b"]))
      #expect(try worker.result().lane == "b")
      #expect(
        worker.journal.all.prefix(4) == [
          .claimed("job-1"), .performed("job-1", lane: "a"), .claimed("job-1"), .performed("job-1", lane: "b"),
        ])
    }
  }

  @Test func `Retry after past the deadline expires with that reason`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onCall { [noRoute] _, _ in .retry(noRoute, after: .seconds(900)) }
      try await worker.process(job())
      #expect(try worker.result().outcome == .expired)
      #expect(try worker.result().reason?.code == "CONNECT_FAILED")
    }
  }

  @Test func `An unknown outcome is reported and not repeated`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [timedOut] _, _ in .unknown(timedOut) }
      try await worker.process(job())
      #expect(try worker.result().outcome == .unknown)
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
    }
  }

  @Test func `Resends are bounded`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [timedOut] _, _ in .unknown(timedOut) }
      var message = try job(onUnknown: .resend)
      for round in 1...2 {
        try await worker.process(message)
        message = try #require(worker.delayedJobs.last).message
        #expect(message.headers["x-unknown-calls"] == .int(Int64(round)))
      }
      try await worker.process(message)
      #expect(try worker.result().outcome == .unknown)
      #expect(try worker.result().attempts == 3)
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 3)
    }
  }

  @Test func `A look up turns unknown into an answer`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [timedOut] _, _ in .unknown(timedOut) }
      worker.handler.onLookUp { _, _ in .accepted(reference: "found") }
      try await worker.process(job())
      #expect(try worker.result().reference == "found")
    }
  }
}
