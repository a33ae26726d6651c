import Testing

@testable import CountersignAMQP

struct ConfirmClockTests {
  private let start = ContinuousClock.now
  private let clock = ConfirmClock(timeout: .seconds(30))

  @Test func theOldestPublishIsLateAfterTheTimeOut() {
    #expect(clock.due(oldest: start, isBlocked: false) == start + .seconds(30))
    #expect(clock.due(oldest: nil, isBlocked: false) == nil)
  }

  @Test func nothingIsLateDuringAnAlarm() {
    #expect(clock.due(oldest: start, isBlocked: true) == nil)
  }

  @Test func theTimeCountsFromTheEndOfTheAlarm() {
    var clock = clock
    clock.start(at: start + .seconds(100))
    #expect(clock.due(oldest: start, isBlocked: false) == start + .seconds(130))
    #expect(clock.due(oldest: start + .seconds(110), isBlocked: false) == start + .seconds(140))
  }
}
