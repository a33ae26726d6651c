import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import JobEngine

@Suite struct TickTests {
  @Test func `An idle worker ticks once a second and a busy one at every grain`() async throws {
    let gate = Gate()
    try await withWorker { worker in
      worker.handler.waitInCalls(for: gate)
      try await worker.ticker.tick()
      #expect(worker.ticker.limit == .seconds(1))
      worker.deliver(try job())
      try await eventually("the call began") { worker.journal.contains(.performed("job-1", lane: "a")) }
      #expect(worker.ticker.wakes > 0)
      try await worker.ticker.tick()
      #expect(worker.ticker.limit == .zero)
      gate.open()
      try await eventually("it has ended") { worker.worker.jobsInFlight == 0 }
      try await worker.ticker.tick()
      #expect(worker.ticker.limit == .seconds(1))
    }
  }

  @Test func `A timer that is due earlier is awaited`() async throws {
    let timers = Timers()
    let start = ManualMonotonicClock().now()
    let fired = Mutex<[Int]>([])
    #expect(timers.earliest == nil)
    let first = timers.schedule(at: start + .seconds(5)) { fired.withLock { $0.append(5) } }
    _ = timers.schedule(at: start + .seconds(2)) { fired.withLock { $0.append(2) } }
    #expect(timers.earliest == start + .seconds(2))
    timers.fire(now: start + .seconds(1))
    #expect(fired.withLock { $0 } == [])
    timers.fire(now: start + .seconds(2))
    #expect(fired.withLock { $0 } == [2])
    #expect(timers.earliest == start + .seconds(5))
    timers.cancel(first)
    timers.fire(now: start + .seconds(6))
    #expect(fired.withLock { $0 } == [2])
    #expect(timers.earliest == nil)
  }

  @Test(.timeLimit(.minutes(10)))
  func `A wake ends a long pause and is kept for the next`() async {
    let ticker = SystemTicker()
    async let tick: Void = ticker.next(within: .seconds(3_600))
    ticker.wake()
    await tick
    ticker.wake()
    await ticker.next(within: .seconds(3_600))
  }
}
