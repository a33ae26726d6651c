import CountersignTelemetry
import TestSupport
import Testing

@Suite struct MonotonicTimeTests {
  @Test func `A sum stays at the ends of its range`() {
    let time = MonotonicTime(nanoseconds: 5)
    #expect(time + .nanoseconds(7) - time == .nanoseconds(7))
    #expect(time + .seconds(Int64.max) == MonotonicTime(nanoseconds: .max))
    #expect(MonotonicTime(nanoseconds: -5) - .seconds(Int64.max) == MonotonicTime(nanoseconds: .min))
    #expect(MonotonicTime(nanoseconds: -5) + .seconds(Int64.min) == MonotonicTime(nanoseconds: .min))
    #expect(MonotonicTime(nanoseconds: .max) - MonotonicTime(nanoseconds: .min) == .nanoseconds(Int64.max))
  }

  @Test func `The systems clock never goes back`() {
    let clock = SystemMonotonicClock()
    let times = (0..<1000).map { _ in clock.now() }
    #expect(times == times.sorted())
    #expect(times[0] > MonotonicTime(nanoseconds: 0))
  }

  @Test func `A step of the wall clock moves nothing else`() {
    let clocks = ManualClocks()
    let (wall, monotonic) = (clocks.wall.now(), clocks.monotonic.now())
    clocks.stepWall(by: .seconds(-3600))
    #expect(clocks.wall.now() == wall - .seconds(3600))
    #expect(clocks.monotonic.now() == monotonic)
    clocks.advance(by: .seconds(2))
    #expect(clocks.wall.now() == wall - .seconds(3598))
    #expect(clocks.monotonic.now() == monotonic + .seconds(2))
  }
}
