import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

/// The wall clock is set while a worker works: nothing fires, nothing freezes.
@Suite struct ClockStepTests {
  static let steps: [Duration] = [.seconds(60), .seconds(-60), .seconds(3600), .seconds(-3600)]

  @Test(arguments: steps) func `Calls under way end as they would have`(step: Duration)
    async throws
  {
    let gate = Gate()
    try await withWorker { worker in
      worker.handler.waitInCalls(for: gate)
      let numbers = try (1...50).map { worker.deliver(try job("job-\($0)", deadline: start + .seconds(7200))) }
      try await eventually("all calls began") { worker.performed == 50 }
      worker.clocks.stepWall(by: step)
      for _ in 0..<4 { try await worker.advance(by: .seconds(1)) }
      for _ in 0..<100 { await Task.yield() }
      #expect(!numbers.contains { worker.wasSettled($0) })
      gate.open()
      try await eventually("all ended") { numbers.allSatisfy { worker.wasSettled($0) } }
      let outcomes = try worker.published(to: Topology.Exchanges.results).map {
        try JobResult(json: $0.message.body).outcome
      }
      #expect(outcomes == Array(repeating: .accepted, count: 50))
      #expect(worker.problems.isEmpty)
      #expect(!worker.journal.contains(.paused))
    }
  }

  @Test(arguments: steps) func `A call that hangs ends in its time`(step: Duration)
    async throws
  {
    try await withWorker(lanes: [LaneConfiguration(name: "a", callTimeout: .seconds(3))]) { worker in
      worker.handler.onCall { _, _ in
        await suspendUntilCanceled()
        return .refused(Reason("CANCELED", "The call was canceled."))
      }
      let number = worker.deliver(try job())
      try await eventually("the call began") { worker.performed == 1 }
      worker.clocks.stepWall(by: step)
      for _ in 0..<4 { try await worker.advance(by: .seconds(1)) }
      try await eventually("it ended") { worker.wasSettled(number) }
    }
  }

  @Test(arguments: steps) func `A lane that is down is probed in its time`(
    step: Duration
  ) async throws {
    try await withWorker { worker in
      worker.handler.onCall { _, _ in .laneDown(Reason("ACCOUNT_SUSPENDED", "The account is suspended.")) }
      worker.handler.onProbe(.up)
      try await worker.process(job())
      try await worker.ticker.tick()
      worker.clocks.stepWall(by: step)
      try await worker.ticker.tick()
      #expect(worker.problems["jobs"] != nil, "it is probed after half a second at the earliest")
      for _ in 0..<4 { try await worker.advance(by: .seconds(1)) }
      try await worker.advance(.zero, until: "it resumes") { worker.journal.contains(.resumed) }
    }
  }

  @Test(arguments: steps) func `A pause for the ledger ends in its time`(
    step: Duration
  ) async throws {
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger) { worker in
      ledger.fail([.claim])
      for number in 1...3 { try await worker.process(job("job-\(number)")) }
      try await worker.advance(.zero, until: "it pauses") { worker.journal.contains(.paused) }
      ledger.fail([])
      worker.clocks.stepWall(by: step)
      try await worker.ticker.tick()
      #expect(!worker.journal.contains(.resumedOneByOne))
      for _ in 0..<4 { try await worker.advance(by: .seconds(1)) }
      try await worker.advance(.zero, until: "it takes a trial") { worker.journal.contains(.resumedOneByOne) }
    }
  }

  @Test(arguments: steps)
  func `A result that was not taken is published again in its time`(step: Duration) async throws {
    try await withWorker { worker in
      worker.sink.answer { _ in .nacked }
      let number = worker.deliver(try job())
      try await eventually("it was tried") { worker.sink.tries == 1 }
      worker.sink.answer { _ in .confirmed }
      worker.clocks.stepWall(by: step)
      try await worker.ticker.tick()
      for _ in 0..<100 { await Task.yield() }
      #expect(worker.sink.tries == 1)
      for _ in 0..<4 { try await worker.advance(by: .seconds(1)) }
      try await eventually("it is acknowledged") { worker.journal.contains(.acked(number)) }
    }
  }

  @Test(arguments: steps) func `A copy of a job under way is held`(step: Duration)
    async throws
  {
    let gate = Gate()
    try await withWorker { worker in
      worker.handler.waitInCalls(for: gate)
      let deadline = start + .seconds(7200)
      let first = worker.deliver(try job(deadline: deadline))
      try await eventually("the call began") { worker.performed == 1 }
      worker.clocks.stepWall(by: step)
      try await worker.process(job(deadline: deadline), isRedelivered: true)
      #expect(try worker.delayed().routingKey == RetryStep.fiveSeconds.rawValue)
      #expect(worker.performed == 1)
      gate.open()
      try await eventually("it ended") { worker.wasSettled(first) }
      #expect(try worker.result().outcome == .accepted)
    }
  }

  @Test(arguments: steps) func `A rate is kept when the clock steps`(step: Duration)
    async throws
  {
    let lane = LaneConfiguration(name: "a", rate: LaneRate(perSecond: 1, burst: 2))
    try await withWorker(lanes: [lane]) { worker in
      for number in 1...5 { worker.deliver(try job("job-\(number)", deadline: start + .seconds(7200))) }
      try await eventually("two calls began") { worker.performed == 2 }
      worker.clocks.stepWall(by: step)
      try await worker.ticker.tick()
      for _ in 0..<100 { await Task.yield() }
      #expect(worker.performed == 2)
      for expected in 3...5 {
        try await worker.advance(by: .seconds(1))
        try await eventually("one more began") { worker.performed == expected }
      }
    }
  }

  @Test(arguments: steps) func `An error that repeats is told once a second`(
    step: Duration
  ) {
    let (clocks, sink) = (ManualClocks(start), MemorySink())
    let log = ThrottledLog(Logger(label: "test", sink: sink), clock: clocks.monotonic)
    log.error("it fails", [:])
    clocks.stepWall(by: step)
    log.error("it fails", [:])
    #expect(sink.events.count == 1)
    clocks.advance(by: ThrottledLog.interval)
    log.error("it fails", [:])
    #expect(sink.events.count == 2)
  }
}
