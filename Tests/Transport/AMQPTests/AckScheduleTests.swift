import Testing

@testable import CountersignAMQP

struct AckScheduleTests {
  private let start = ContinuousClock.now
  private let gathering = Gathering(interval: .milliseconds(50), isPrompt: false)

  private func rest(_ schedule: AckSchedule, _ finished: Int, _ time: Duration) -> Duration? {
    schedule.rest(finished: finished, unacknowledged: 50, limit: 100, now: start + time)
  }

  @Test func `Settled deliveries wait for the interval or for enough`() {
    var schedule = AckSchedule(gathering, prefetch: 100)
    schedule.finished(at: start)
    schedule.finished(at: start + .milliseconds(20))
    #expect(rest(schedule, 24, .milliseconds(30)) == .milliseconds(20))
    #expect(rest(schedule, 25, .milliseconds(30)) == nil)
    #expect(rest(schedule, 1, .milliseconds(50)) == nil)
  }

  /// Otherwise the tick that the gap asks for would do nothing, and come again at once.
  @Test func `A gap that is due does not wait for more`() {
    var schedule = AckSchedule(gathering, prefetch: 100)
    schedule.finished(at: start)
    schedule.flushes(at: start)
    schedule.flushed(behindGap: 3, now: start)
    #expect(schedule.gapDue == start + AckSchedule.gapInterval)
    schedule.finished(at: start + .milliseconds(240))
    #expect(rest(schedule, 4, .milliseconds(245)) == .milliseconds(45))
    #expect(rest(schedule, 4, .milliseconds(250)) == nil)
    schedule.flushes(at: start + .milliseconds(250))
    schedule.flushed(behindGap: 0, now: start + .milliseconds(250))
    #expect(schedule.gapDue == nil)
  }

  @Test func `Half of the prefetch behind a gap is due`() {
    var schedule = AckSchedule(gathering, prefetch: 100)
    #expect(!schedule.isGapDue(finished: 60, now: start))
    schedule.flushed(behindGap: 49, now: start)
    #expect(!schedule.isGapDue(finished: 49, now: start))
    #expect(schedule.isGapDue(finished: 50, now: start))
  }
}
