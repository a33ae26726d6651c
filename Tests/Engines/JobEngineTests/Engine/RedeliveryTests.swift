import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

/// The same message more than once: after a crash, after the loss of the broker, from a sender that repeats himself.
@Suite struct RedeliveryTests {
  @Test func `A settled job is answered with its recorded result and no call`() async throws {
    try await withWorker { worker in
      try await worker.process(job())
      worker.clocks.advance(by: .seconds(60))
      worker.handler.onCall { _, _ in .accepted(reference: "another") }
      try await worker.process(job(replyTo: "amq.gen-late"), isRedelivered: true)
      let results = worker.published(to: Topology.Exchanges.results)
      #expect(results.count == 2)
      #expect(results[0].message.body == results[1].message.body)
      #expect(results[0].message.messageID == results[1].message.messageID)
      #expect(results[1].routingKey == "test.job.accepted")
      #expect(worker.published(to: "").count == 1)
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
    }
  }

  @Test func `A job that another holds is looked at again uncounted`()
    async throws
  {
    let ledger = MemoryLedger()
    _ = try await ledger.claim(claim(token: 7))
    try await withWorker(ledger: ledger) { worker in
      try await worker.process(job(), isRedelivered: true)
      let delayed = try worker.delayed()
      #expect(delayed.routingKey == RetryStep.fiveSeconds.rawValue)
      #expect(delayed.message.headers[MessageHeader.attempt] == nil)
      #expect(worker.journal.all.first == .published(exchange: delayed.exchange, routingKey: "5s"))
    }
  }

  @Test(arguments: [OnUnknown.report, .resend])
  func `A job whose worker died in the call goes by its rule`(rule: OnUnknown) async throws {
    let ledger = MemoryLedger()
    _ = try await ledger.claim(claim(token: 7, at: start - .seconds(30)))
    try await withWorker(ledger: ledger) { worker in
      try await worker.process(job(onUnknown: rule), isRedelivered: true)
      let result = try worker.result()
      #expect(result.outcome == (rule == .resend ? .accepted : .unknown))
      #expect(result.reason?.code == (rule == .resend ? nil : "ATTEMPT_LOST"))
      #expect(worker.journal.contains(.performed("job-1", lane: "a")) == (rule == .resend))
    }
  }

  @Test func `Jobs settled during an outage are published after it`()
    async throws
  {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      worker.sink.fail(AMQPError(.closed, "the publisher was stopped"))
      let number = try await worker.process(job())
      #expect(worker.journal.contains(.rejected(number, requeue: true)))
      #expect(worker.sink.confirmed.isEmpty)
    }
    try await withWorker(ledger: ledger) { worker in
      try await worker.process(job(), isRedelivered: true)
      #expect(try worker.result().outcome == .accepted)
      #expect(!worker.journal.contains(.performed("job-1", lane: "a")))
    }
  }

  @Test func `Without a ledger a redelivered job counts as begun`()
    async throws
  {
    try await withWorker(ledger: NoLedger()) { worker in
      try await worker.process(job("fresh"))
      try await worker.process(job("again"), isRedelivered: true)
      #expect(worker.journal.count(of: .performed("fresh", lane: "a")) == 1)
      #expect(!worker.journal.contains(.performed("again", lane: "a")))
      let outcomes = try worker.published(to: Topology.Exchanges.results).map {
        try JobResult(json: $0.message.body).outcome
      }
      #expect(outcomes == [.accepted, .unknown])
    }
  }

  @Test func `Without a ledger resends are bounded by the brokers count`() async throws {
    try await withWorker(ledger: NoLedger()) { worker in
      try await worker.process(
        job("second", onUnknown: .resend, headers: ["x-delivery-count": 2]), isRedelivered: true)
      try await worker.process(
        job("third", onUnknown: .resend, headers: ["x-delivery-count": 3]), isRedelivered: true)
      #expect(worker.journal.contains(.performed("second", lane: "a")))
      #expect(!worker.journal.contains(.performed("third", lane: "a")))
    }
  }
}
