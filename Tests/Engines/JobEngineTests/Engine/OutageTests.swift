import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

@Suite struct OutageTests {
  private let suspended = Reason("ACCOUNT_SUSPENDED", "The account is suspended.")

  @Test func `When no lane is left the consumer pauses until a probe succeeds`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [suspended] _, _ in .laneDown(suspended) }
      worker.handler.onProbe(.down(suspended))
      try await worker.process(job())
      let delayed = try worker.delayed()
      #expect(delayed.message.headers[MessageHeader.attempt] == nil, "an outage is no attempt")
      #expect(delayed.message.headers[MessageHeader.lastError] == .string(suspended.description))
      try await worker.advance(until: "it pauses") { worker.journal.contains(.paused) }
      #expect(worker.problems["jobs"]?.contains("ACCOUNT_SUSPENDED") == true)
      #expect(worker.logs.events.contains { $0.level == .error && $0.message == "lane is down" })
      for _ in 0..<30 { try await worker.advance(by: .seconds(1)) }
      #expect(!worker.journal.contains(.resumed))
      worker.handler.onProbe(.up)
      worker.handler.onCall { _, _ in .accepted(reference: "SM1") }
      try await worker.advance(.seconds(1), until: "it resumes") { worker.journal.contains(.resumed) }
      #expect(worker.problems.isEmpty)
      try await worker.process(job("next"))
      #expect(try worker.result().outcome == .accepted)
    }
  }

  @Test func `A job is the trial where the provider cannot tell`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onCall { [suspended] _, _ in .laneDown(suspended) }
      try await worker.process(job())
      try await worker.advance(until: "it pauses") { worker.journal.contains(.paused) }
      try await worker.advance(until: "it takes a trial") { worker.journal.contains(.resumedOneByOne) }
      worker.handler.onCall { _, _ in .accepted(reference: "SM1") }
      for _ in 0..<20 { try await worker.ticker.tick() }
      #expect(!worker.journal.contains(.resumed), "nothing says yet that the lane works")
      try await worker.process(job("trial"))
      #expect(try worker.result().jobID == "trial")
      try await worker.advance(until: "it resumes") { worker.journal.contains(.resumed) }
    }
  }

  @Test func `A trial that fails costs no other job a delay`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [suspended] _, _ in .laneDown(suspended) }
      try await worker.process(job("first"))
      for round in 1...3 {
        try await worker.advance(.seconds(1), until: "it pauses") { worker.journal.count(of: .paused) == round }
        try await worker.advance(.seconds(1), until: "it takes a trial") {
          worker.journal.count(of: .resumedOneByOne) == round
        }
        try await worker.process(job("trial-\(round)"))
      }
      #expect(!worker.journal.contains(.resumed))
      #expect(worker.delayedJobs.count == 4)
    }
  }

  @Test func `While one lane is down the other serves`() async throws {
    try await withWorker(lanes: [LaneConfiguration(name: "a"), LaneConfiguration(name: "b")]) { worker in
      worker.handler.onCall { [suspended] lane, _ in lane == "a" ? .laneDown(suspended) : .accepted(reference: lane) }
      for number in 1...3 { try await worker.process(job("job-\(number)", lanes: ["a", "b"])) }
      try await worker.ticker.tick()
      #expect(worker.published(to: Topology.Exchanges.results).count == 3)
      #expect(worker.journal.all.filter { if case .performed(_, lane: "a") = $0 { true } else { false } }.count == 1)
      #expect(!worker.journal.contains(.paused))
      #expect(worker.problems.isEmpty)
    }
  }

  @Test func `A ledger that cannot claim makes no call and pauses the worker`() async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      ledger.fail([.claim])
      for number in 1...3 { try await worker.process(job("job-\(number)")) }
      #expect(worker.delayedJobs.map(\.routingKey) == Array(repeating: RetryStep.fiveSeconds.rawValue, count: 3))
      #expect(worker.delayedJobs.allSatisfy { $0.message.headers[MessageHeader.attempt] == nil })
      #expect(!worker.journal.all.contains { if case .performed = $0 { true } else { false } })
      try await worker.advance(until: "it pauses") { worker.journal.contains(.paused) }
      #expect(worker.problems["ledger"] != nil)
      ledger.fail([])
      try await worker.advance(until: "it takes a trial") { worker.journal.contains(.resumedOneByOne) }
      for _ in 0..<20 { try await worker.ticker.tick() }
      #expect(!worker.journal.contains(.resumed), "nothing says yet that the ledger works")
      try await worker.process(job("job-1"))
      #expect(try worker.result().outcome == .accepted)
      try await worker.advance(until: "it resumes") { worker.journal.contains(.resumed) }
      #expect(worker.problems.isEmpty)
    }
  }

  @Test func `An effect that cannot be recorded is reported once and not repeated`() async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      ledger.fail([.settle])
      let number = worker.deliver(try job())
      try await worker.advance(until: "it is acknowledged") { worker.journal.contains(.acked(number)) }
      #expect(try worker.result().outcome == .accepted)
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
      #expect(worker.logs.events.contains { $0.level == .error && $0.metadata[.jobID] == .string("job-1") })
    }
  }

  @Test(
    arguments: [PublishOutcome.returned(code: 312, text: "NO_ROUTE"), .nacked])
  func `A result that the broker does not take keeps the job and the worker goes on`(outcome: PublishOutcome)
    async throws
  {
    try await withWorker { worker in
      worker.sink.answer { $0.message.messageID == "job-1.result" ? outcome : .confirmed }
      let stuck = worker.deliver(try job())
      try await eventually("it was tried") { worker.sink.tries == 1 }
      try await worker.process(job("job-2"))
      #expect(try worker.result().jobID == "job-2")
      #expect(!worker.wasSettled(stuck))
      #expect(worker.logs.events.contains { $0.level == .error })
      worker.sink.answer { _ in .confirmed }
      try await worker.advance(until: "it is acknowledged") { worker.journal.contains(.acked(stuck)) }
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
    }
  }

  @Test func `A result that is never taken comes back through a delay step`() async throws {
    try await withWorker { worker in
      worker.sink.answer { $0.exchange == Topology.Exchanges.results ? .nacked : .confirmed }
      let number = worker.deliver(try job())
      try await worker.advance(.seconds(10), until: "it is put off") { worker.journal.contains(.acked(number)) }
      let delayed = try worker.delayed()
      #expect(delayed.routingKey == RetryStep.thirtySeconds.rawValue)
      #expect(delayed.message.headers[MessageHeader.attempt] == nil)
      worker.sink.answer { _ in .confirmed }
      try await worker.process(delayed.message)
      #expect(try worker.result().outcome == .accepted)
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
    }
  }

  @Test func `A requester that is gone is no error`() async throws {
    try await withWorker { worker in
      worker.sink.answer { $0.exchange.isEmpty ? .returned(code: 312, text: "NO_ROUTE") : .confirmed }
      let number = try await worker.process(job(replyTo: "amq.rabbitmq.reply-to.g1h2"))
      #expect(worker.journal.contains(.acked(number)))
      #expect(worker.sink.tries == 1)
      #expect(!worker.logs.events.contains { $0.level == .error })
    }
  }

  @Test func `A job too large for a delay step is left to the broker`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onCall { [suspended] _, _ in .retry(suspended) }
      worker.sink.fail(AMQPError(.tooLarge, "the headers are too large"))
      let number = try await worker.process(job())
      #expect(worker.journal.contains(.rejected(number, requeue: false)))
    }
  }

  @Test func `A delay step that is missing leaves the job to the broker`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [suspended] _, _ in .retry(suspended) }
      worker.sink.answer { _ in .returned(code: 404, text: "no exchange") }
      let number = worker.deliver(try job())
      try await worker.advance(.seconds(10), until: "it goes back") { worker.wasSettled(number) }
      #expect(worker.journal.contains(.rejected(number, requeue: true)))
    }
  }

  @Test func `A claim whose answer was lost is no call that may have begun`() async throws {
    let ledger = MemoryLedger()
    ledger.fail([.claimAnswer])
    try await withWorker(ledger: ledger) { worker in
      try await worker.process(job(onUnknown: .report))
      let delayed = try worker.delayed().message
      #expect(WorkerHeader.failedClaims(delayed).count == 1)
      #expect(!worker.journal.contains(.performed("job-1", lane: "a")))
      ledger.fail([])
      try await worker.process(delayed)
      #expect(try worker.result().outcome == .accepted)
    }
  }

  @Test func `A failed claim whose token no copy carries is forgotten`() async throws {
    let ledger = MemoryLedger()
    ledger.fail([.claimAnswer])
    try await withWorker(ledger: ledger) { worker in
      worker.sink.answer { _ in .returned(code: 404, text: "no exchange") }
      let number = worker.deliver(try job(onUnknown: .report))
      try await worker.advance(.seconds(10), until: "it goes back") { worker.wasSettled(number) }
      try await eventually("the claim is forgotten") { ledger.count == 0 }
    }
  }

  @Test func `Whatever a sender says of failed claims, their number is bounded`() throws {
    var message = try job()
    for (text, count) in [("", 0), ("x 1  2 9223372036854775808", 2), (String(repeating: "7 ", count: 5000), 8)] {
      message.headers[WorkerHeader.failedClaims] = .string(text)
      #expect(WorkerHeader.failedClaims(message).count == count)
    }
    #expect(WorkerHeader.value(ofFailedClaims: []) == nil)
    #expect(WorkerHeader.value(ofFailedClaims: Array(1...10)) == .string("3 4 5 6 7 8 9 10"))
  }
}
