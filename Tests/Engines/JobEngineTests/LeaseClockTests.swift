import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

@Suite struct LeaseClockTests {
  private let clocks = ManualClocks(start)
  private let longestLease: Duration = .seconds(150)

  @Test func `It follows the wall clock`() {
    let clock = LeaseClock(clocks.clocks, longestLease: longestLease)
    for _ in 0..<100 {
      clocks.advance(by: .seconds(60))
      clocks.stepWall(by: .milliseconds(-900))
      #expect(clock.now() == clocks.wall.now())
    }
    for _ in 0..<100 {
      clocks.advance(by: .seconds(60))
      clocks.stepWall(by: .milliseconds(900))
      #expect(clock.now() == clocks.wall.now(), "a clock that is slewed is no step")
    }
  }

  @Test(arguments: [60, 3600])
  func `A step forth is left out until no lease runs that knows nothing of it`(seconds: Int64) {
    let clock = LeaseClock(clocks.clocks, longestLease: longestLease)
    clocks.stepWall(by: .seconds(seconds))
    #expect(clock.now() == start)
    clocks.advance(by: longestLease - .seconds(1))
    #expect(clock.now() == start + longestLease - .seconds(1))
    clocks.advance(by: .seconds(1))
    #expect(clock.now() == clocks.wall.now())
    clocks.advance(by: .seconds(10))
    #expect(clock.now() == clocks.wall.now())
  }

  @Test func `A second step is left out for as long`() {
    let clock = LeaseClock(clocks.clocks, longestLease: longestLease)
    clocks.stepWall(by: .seconds(60))
    _ = clock.now()
    clocks.advance(by: .seconds(100))
    clocks.stepWall(by: .seconds(60))
    #expect(clock.now() == start + .seconds(100))
    clocks.advance(by: .seconds(100))
    #expect(clock.now() == start + .seconds(200))
    clocks.advance(by: .seconds(50))
    #expect(clock.now() == clocks.wall.now())
  }

  @Test func `The latest time to judge by leaves a step out that is not read yet`() {
    var filter = StepFilter(longestLease: longestLease)
    #expect(filter.latest(at: clocks.monotonic.now()) == nil)
    func read() { _ = filter.time(clocks.wall.now(), at: clocks.monotonic.now()) }
    func latest() -> UnixTime? { filter.latest(at: clocks.monotonic.now()) }
    read()
    clocks.advance(by: .seconds(100))
    #expect(latest() == start + .seconds(100) + StepFilter.tolerance)
    clocks.stepWall(by: .seconds(60))
    read()
    clocks.advance(by: longestLease - .seconds(1))
    #expect(latest() == clocks.wall.now() - .seconds(60) + StepFilter.tolerance)
    clocks.advance(by: .seconds(1))
    #expect(latest() == clocks.wall.now() + StepFilter.tolerance)
  }

  @Test func `A step back is followed at once`() {
    let clock = LeaseClock(clocks.clocks, longestLease: longestLease)
    clocks.stepWall(by: .seconds(-3600))
    #expect(clock.now() == start - .seconds(3600))
    clocks.stepWall(by: .seconds(60))
    _ = clock.now()
    clocks.stepWall(by: .seconds(-60))
    #expect(clock.now() == start - .seconds(3600))
  }
}
