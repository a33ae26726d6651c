import CountersignTelemetry
import Testing

@Suite struct MonotonicTimeTests {
  @Test("A sum stays at the ends of its range") func aSumStaysAtTheEndsOfItsRange() {
    let time = MonotonicTime(nanoseconds: 5)
    #expect(time + .nanoseconds(7) - time == .nanoseconds(7))
    #expect(time + .seconds(Int64.max) == MonotonicTime(nanoseconds: .max))
    #expect(MonotonicTime(nanoseconds: -5) - .seconds(Int64.max) == MonotonicTime(nanoseconds: .min))
    #expect(MonotonicTime(nanoseconds: -5) + .seconds(Int64.min) == MonotonicTime(nanoseconds: .min))
    #expect(MonotonicTime(nanoseconds: .max) - MonotonicTime(nanoseconds: .min) == .nanoseconds(Int64.max))
  }

  @Test("The systems clock never goes back") func theSystemsClockNeverGoesBack() {
    let clock = SystemMonotonicClock()
    let times = (0..<1000).map { _ in clock.now() }
    #expect(times == times.sorted())
    #expect(times[0] > MonotonicTime(nanoseconds: 0))
  }

  @Test("A step of the wall clock moves nothing else") func aStepOfTheWallClockMovesNothingElse() {
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
