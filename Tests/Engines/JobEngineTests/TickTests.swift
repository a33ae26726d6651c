import CountersignTelemetry
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
    #expect(timers.earliest == nil)
    let late = Task { await timers.sleep(until: start + .seconds(5)) }
    try await eventually("it waits") { timers.earliest == start + .seconds(5) }
    let early = Task { await timers.sleep(until: start + .seconds(2)) }
    try await eventually("it waits for less") { timers.earliest == start + .seconds(2) }
    timers.fire(now: start + .seconds(1))
    #expect(timers.earliest == start + .seconds(2))
    timers.fire(now: start + .seconds(2))
    #expect(await early.value)
    #expect(timers.earliest == start + .seconds(5))
    late.cancel()
    #expect(await !late.value)
    timers.fire(now: start + .seconds(6))
    #expect(timers.earliest == nil)
  }

  @Test func `A stop ends the waits that do not outlast it`() async throws {
    let timers = Timers()
    let end = ManualMonotonicClock().now() + .seconds(5)
    let wait = Task { await timers.sleep(until: end) }
    let watch = Task { await timers.sleep(until: end, outlastsStop: true) }
    timers.stopSleeping()
    #expect(await !wait.value)
    #expect(await !timers.sleep(until: end))
    try await eventually("it waits") { timers.earliest == end }
    timers.fire(now: end)
    #expect(await watch.value)
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
