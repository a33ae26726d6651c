import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import JobEngine

@Suite struct DelayReportTests {
  private let outage = Reason("PROVIDER_UNAVAILABLE", "The provider is out of order.", providerCode: "HTTP 503")

  @Test func `The first delay of a job is reported`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [outage] _, _ in .retry(outage) }
      var message = try job(replyTo: "amq.gen-reply-queue")
      message.userID = "coordinator"
      try await worker.process(message)
      let report = try #require(worker.delayReports.first)
      #expect(report.exchange == Topology.Exchanges.results && report.routingKey == "test.job.delayed")
      #expect(report.message.userID == "worker" && report.message.headers[MessageHeader.sender] == "coordinator")
      #expect(report.message.correlationID == "verification-1")
      #expect(report.message.headers[MessageHeader.causationID] == "job-1")
      #expect(
        try JobDelayed(json: report.message.body)
          == JobDelayed(
            jobID: "job-1",
            reason: .init(code: outage.code, detail: outage.detail, providerCode: outage.providerCode), attempts: 1,
            nextAttemptAt: start + .seconds(5)))
      // Its requester waits for the outcome.
      #expect(worker.published(to: "").isEmpty)
    }
  }

  @Test func `Only another reason is reported again`() async throws {
    try await withWorker { worker in
      let busy = Reason("PROVIDER_THROTTLED", "Too many requests.")
      let reasons = [outage, outage, busy, busy, outage]
      worker.handler.onCall { _, attempt in .retry(reasons[attempt.number - 1]) }
      var message = try job(deadline: start + .seconds(7200))
      for _ in reasons {
        try await worker.process(message)
        message = try #require(worker.delayedJobs.last).message
      }
      #expect(worker.delayedJobs.count == reasons.count)
      let reports = try worker.delayReports.map { try JobDelayed(json: $0.message.body) }
      #expect(reports.map(\.reason.code) == ["PROVIDER_UNAVAILABLE", "PROVIDER_THROTTLED", "PROVIDER_UNAVAILABLE"])
      #expect(reports.map(\.attempts) == [1, 3, 5])
      #expect(Set(worker.delayReports.map(\.message.messageID)).count == 3)
    }
  }

  @Test func `The next attempt is when the provider admits one`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [outage] _, _ in .retry(outage, after: .seconds(5400)) }
      try await worker.process(job(deadline: start + .seconds(20_000)))
      let report = try JobDelayed(json: try #require(worker.delayReports.first).message.body)
      #expect(report.nextAttemptAt == start + .seconds(5400))
    }
  }

  @Test func `A delay without a call counts no attempt`() async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      ledger.fail([.claim])
      try await worker.process(job())
      let report = try JobDelayed(json: try #require(worker.delayReports.first).message.body)
      #expect(report.reason.code == "LEDGER_UNAVAILABLE" && report.attempts == 0)
    }
  }

  @Test func `A job that is not delayed costs no report`() async throws {
    try await withWorker { worker in
      try await worker.process(job())
      #expect(worker.sink.confirmed.map(\.routingKey) == ["test.job.accepted"])
    }
  }

  /// A full queue of results must not keep delayed jobs in the worker.
  @Test func `A report that the broker does not take is given up`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onCall { [outage] _, _ in .retry(outage) }
      let tries = Mutex(0)
      worker.sink.answer { publication in
        guard publication.exchange == Topology.Exchanges.results else { return .confirmed }
        tries.withLock { $0 += 1 }
        return .nacked
      }
      let number = worker.deliver(try job())
      try await worker.advance(until: "it is acknowledged") { worker.journal.contains(.acked(number)) }
      #expect(worker.delayedJobs.count == 1 && worker.delayReports.isEmpty)
      #expect(tries.withLock { $0 } == JobPublications.maxCopyTries)
    }
  }
}
