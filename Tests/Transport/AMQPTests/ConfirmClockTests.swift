import Testing

@testable import CountersignAMQP

struct ConfirmClockTests {
  private let start = ContinuousClock.now
  private let clock = ConfirmClock(timeout: .seconds(30))

  @Test func `The oldest publish is late after the time out`() {
    #expect(clock.due(oldest: start, isBlocked: false) == start + .seconds(30))
    #expect(clock.due(oldest: nil, isBlocked: false) == nil)
  }

  @Test func `Nothing is late during an alarm`() {
    #expect(clock.due(oldest: start, isBlocked: true) == nil)
  }

  @Test func `The time counts from the end of the alarm`() {
    var clock = clock
    clock.start(at: start + .seconds(100))
    #expect(clock.due(oldest: start, isBlocked: false) == start + .seconds(130))
    #expect(clock.due(oldest: start + .seconds(110), isBlocked: false) == start + .seconds(140))
  }
}
