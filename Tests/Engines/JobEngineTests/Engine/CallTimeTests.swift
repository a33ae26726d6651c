import CountersignAMQP
import CountersignConcurrency
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

@Suite struct CallTimeTests {
  @Test func `A call that hangs is canceled and may say how it ended`()
    async throws
  {
    try await withWorker(lanes: [LaneConfiguration(name: "a", callTimeout: .seconds(3))]) { worker in
      worker.handler.onCall { _, attempt in
        #expect(attempt.timeout == .seconds(3))
        await suspendUntilCanceled()
        return .refused(Reason("CANCELED", "The call was canceled."))
      }
      let number = worker.deliver(try job())
      try await eventually("the call began") { worker.journal.contains(.performed("job-1", lane: "a")) }
      try await worker.advance(until: "it ends") { worker.wasSettled(number) }
      #expect(try worker.result().reason?.code == "CANCELED")
      #expect(worker.clocks.wall.now() - start >= .milliseconds(3500))
    }
  }

  @Test func `A call that ignores its cancellation is abandoned`()
    async throws
  {
    let gate = Gate()
    try await withWorker(lanes: [LaneConfiguration(name: "a", callTimeout: .seconds(3))]) { worker in
      worker.handler.waitInCalls(for: gate)
      let number = worker.deliver(try job())
      try await eventually("the call began") { worker.journal.contains(.performed("job-1", lane: "a")) }
      try await worker.advance(until: "it ends") { worker.wasSettled(number) }
      #expect(try worker.result().outcome == .unknown)
      #expect(try worker.result().reason?.code == "CALL_TIMED_OUT")
      #expect(worker.clocks.wall.now() - start >= .milliseconds(5500))
      gate.open()
    }
  }

  @Test func `No more calls at once than the lane allows`() async throws {
    let gate = Gate()
    try await withWorker(lanes: [LaneConfiguration(name: "a", concurrency: 2)]) { worker in
      worker.handler.waitInCalls(for: gate)
      for number in 1...5 { worker.deliver(try job("job-\(number)")) }
      try await eventually("two calls began") { worker.performed == 2 }
      for _ in 0..<100 { await Task.yield() }
      #expect(worker.performed == 2)
      gate.open()
      try await eventually("all ended") { worker.published(to: Topology.Exchanges.results).count == 5 }
    }
  }

  @Test func `A backlog waits for its lane though there is another`()
    async throws
  {
    let gate = Gate()
    let lanes = ["a", "b"].map { LaneConfiguration(name: $0, concurrency: 1) }
    try await withWorker(lanes: lanes) { worker in
      worker.handler.waitInCalls(for: gate)
      for number in 1...20 { worker.deliver(try job("job-\(number)")) }
      try await eventually("a call began") { worker.performed == 1 }
      gate.open()
      try await eventually("all ended") { worker.published(to: Topology.Exchanges.results).count == 20 }
      #expect(worker.delayedJobs.isEmpty)
    }
  }

  @Test func `The rate of a lane is kept`() async throws {
    let lane = LaneConfiguration(name: "a", rate: LaneRate(perSecond: 10, burst: 1))
    try await withWorker(lanes: [lane]) { worker in
      for number in 1...4 { worker.deliver(try job("job-\(number)")) }
      try await eventually("one call began") { worker.performed == 1 }
      for expected in 2...4 {
        try await worker.advance(by: .milliseconds(50))
        for _ in 0..<100 { await Task.yield() }
        #expect(worker.performed == expected - 1)
        try await worker.advance(by: .milliseconds(50))
        try await eventually("another call began") { worker.performed == expected }
      }
    }
  }

  @Test func `A slow lane does not hold up the jobs of another`() async throws {
    let gate = Gate()
    let lanes = [LaneConfiguration(name: "a", concurrency: 1), LaneConfiguration(name: "b")]
    try await withWorker(lanes: lanes) { worker in
      worker.handler.onCall { lane, _ in
        if lane == "a" { await gate.wait() }
        return .accepted(reference: nil)
      }
      for number in 1...4 { worker.deliver(try job("a-\(number)")) }
      try await eventually("one call began") { worker.performed == 1 }
      // One in its call; the others have waited long enough.
      try await worker.advance(until: "three are put off") { worker.delayedJobs.count == 3 }
      #expect(worker.delayedJobs.allSatisfy { $0.routingKey == RetryStep.fiveSeconds.rawValue })
      #expect(worker.clocks.wall.now() - start >= .seconds(2))
      try await worker.process(job("b-1", lanes: ["b"]))
      // However long the clock had to run for that, and with it the call on the other lane.
      let ended = try worker.published(to: Topology.Exchanges.results).map {
        try JobResult(json: $0.message.body).jobID
      }
      #expect(ended.contains("b-1"))
      gate.open()
    }
  }

  @Test func `More than the bound is not taken`() async throws {
    let gate = Gate()
    var options = WorkerHarness.options
    options.maxInFlight = 3
    try await withWorker(options: options) { worker in
      worker.handler.waitInCalls(for: gate)
      for number in 1...3 { worker.deliver(try job("job-\(number)")) }
      try await eventually("three calls began") { worker.performed == 3 }
      worker.deliver(try job("job-4"))
      for _ in 0..<100 { await Task.yield() }
      #expect(worker.performed == 3)
      gate.open()
      try await eventually("all ended") { worker.performed == 4 }
    }
  }
}

extension WorkerHarness {
  var performed: Int {
    journal.all.filter { if case .performed = $0 { true } else { false } }.count
  }
}

/// A latch whose waits no cancellation ends.
final class Gate: Sendable {
  private let latch = Latch()

  func wait() async { await latch.waitIgnoringCancellation() }
  func open() { latch.open() }
}

func suspendUntilCanceled() async {
  let gate = Gate()
  await withTaskCancellationHandler {
    await gate.wait()
  } onCancel: {
    gate.open()
  }
}
