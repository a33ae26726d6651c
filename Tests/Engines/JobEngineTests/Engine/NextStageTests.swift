import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

/// A job that goes on as a further message: what its call yielded survives the worker, wherever it dies.
@Suite struct NextStageTests {
  private let stage = NextStage(messageID: "job-1.next", body: Array(#"{"deadline":"2026-07-01T12:10:00Z"}"#.utf8))
  private let lost = Reason("LOST", "What the call yielded is lost.")

  private func yielding(_ worker: WorkerHarness) {
    worker.handler.onCall { [stage] _, attempt in
      attempt.jobID == "job-1" ? .continued(as: stage) : .accepted(reference: "done")
    }
  }

  @Test func `It is recorded then confirmed then acknowledged`() async throws {
    try await withWorker { worker in
      yielding(worker)
      let number = try await worker.process(job(replyTo: "amq.gen-requester"))
      #expect(
        worker.journal.all == [
          .claimed("job-1"), .performed("job-1", lane: "a"), .settled("job-1"),
          .published(exchange: Topology.Exchanges.jobs, routingKey: "test.job"), .acked(number),
        ])
      let message = try #require(worker.sink.confirmed.first).message
      #expect(message.body == stage.body)
      #expect(message.messageID == "job-1.next")
      #expect(message.type == "test.job.v1")
      #expect(message.correlationID == "verification-1")
      #expect(message.replyTo == "amq.gen-requester")
      #expect(message.isPersistent)
      #expect(message.headers["x-job-id"] == "job-1")
      #expect(message.headers[MessageHeader.causationID] == "job-1")
    }
  }

  @Test func `Its result is that of the job`() async throws {
    try await withWorker { worker in
      yielding(worker)
      try await worker.process(job(replyTo: "amq.gen-requester"))
      worker.clocks.advance(by: .seconds(3))
      try await worker.process(try #require(worker.sink.confirmed.first).message)
      let result = try worker.result()
      #expect(result.jobID == "job-1")
      #expect(result.outcome == .accepted)
      #expect(result.startedAt == start)
      #expect(worker.published(to: Topology.Exchanges.results).first?.message.messageID == "job-1.result")
      #expect(worker.published(to: Topology.Exchanges.direct).first?.routingKey == "amq.gen-requester")
      #expect(worker.journal.contains(.settled("job-1.next")))
    }
  }

  @Test func `A worker that dies before it is confirmed leaves it in the ledger`() async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      yielding(worker)
      worker.sink.fail(AMQPError(.closed, "the connection is gone"))
      let number = try await worker.process(job())
      #expect(worker.journal.contains(.rejected(number, requeue: true)))
    }
    try await withWorker(ledger: ledger) { worker in
      try await worker.process(job(), isRedelivered: true)
      #expect(worker.sink.confirmed.map(\.message.body) == [stage.body])
      #expect(worker.sink.confirmed.map(\.message.messageID) == ["job-1.next"])
      #expect(!worker.journal.contains(.performed("job-1", lane: "a")))
    }
  }

  @Test func `A worker that dies before the acknowledgement publishes the same again`() async throws {
    try await withWorker { worker in
      yielding(worker)
      try await worker.process(job())
      try await worker.process(job(), isRedelivered: true)
      let stages = worker.published(to: Topology.Exchanges.jobs)
      #expect(stages.count == 2 && Set(stages.map(\.message.messageID)).count == 1)
      for stage in stages { try await worker.process(stage.message) }
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
      #expect(worker.journal.count(of: .performed("job-1.next", lane: "a")) == 1)
      let results = worker.published(to: Topology.Exchanges.results)
      #expect(Set(results.map(\.message.body)).count == 1)
    }
  }

  @Test func `Without the ledger it is published all the same and not given up`() async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      yielding(worker)
      ledger.fail([.settle])
      worker.sink.answer { _ in .nacked }
      let number = worker.deliver(try job())
      try await worker.advance(.seconds(30), until: "it was tried more often than others") {
        worker.sink.tries > ReliablePublisher.maxTries + 5
      }
      #expect(!worker.wasSettled(number))
      worker.sink.answer { _ in .confirmed }
      try await worker.advance(.seconds(30), until: "it is done") { worker.wasSettled(number) }
      #expect(worker.sink.confirmed.map(\.message.messageID) == ["job-1.next"])
      #expect(worker.journal.contains(.acked(number)))
    }
  }

  @Test func `A yield that another took for lost is not`() async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      worker.handler.onCall { [stage, lost] _, attempt in
        // Meanwhile another worker took this one for dead, asked again, and got the answer that the code was used.
        let ending = JobResult(
          jobID: "job-1", outcome: .unknown, reason: .init(lost), attempts: 1, startedAt: start, finishedAt: start)
        _ = try? await ledger.settle(claim(token: 7), result: ending.fastJSON, at: start)
        return .continued(as: stage)
      }
      try await worker.process(job())
      #expect(worker.sink.confirmed.map(\.message.messageID) == ["job-1.next"])
    }
  }

  @Test func `The call after one of unknown end knows that`() async throws {
    let ledger = MemoryLedger()
    _ = try await ledger.claim(claim(token: 7, at: start - .seconds(30)))
    try await withWorker(ledger: ledger) { worker in
      worker.handler.onCall { [lost] _, attempt in
        attempt.unknownCalls == 1 ? .lost(lost, extras: ["stage": "exchange"]) : .accepted(reference: nil)
      }
      try await worker.process(job(onUnknown: .resend), isRedelivered: true)
      let result = try worker.result()
      #expect(result.outcome == .unknown)
      #expect(result.reason?.code == "LOST")
      #expect(result.extras == ["stage": "exchange"])
    }
  }

  @Test func `A record is read as what it is`() throws {
    let odd = NextStage(messageID: "a\n\"b", body: Array(#"{"jobID":"x"}"#.utf8))
    #expect(try RecordedEnding(RecordedEnding.stage(odd).record(of: "job-1"), of: "job-1") == .stage(odd))
  }
}
