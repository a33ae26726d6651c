import Testing

@testable import CountersignAMQP

struct SendWindowTests {
  private let start = ContinuousClock.now
  private let interval = Gathering.publishes.interval
  private let patient = Gathering(interval: .milliseconds(10), count: 64, isPrompt: false)

  @Test func `The first is sent at once`() {
    var window = SendWindow(.publishes)
    #expect(window.delay(count: 1, isConfirmed: true, now: start) == nil)
    #expect(window.delay(count: 1, isConfirmed: false, now: start) == nil)
  }

  @Test func `Publishers that await each confirm are not delayed`() {
    var window = SendWindow(.publishes)
    window.sent(at: start)
    #expect(window.delay(count: 1, isConfirmed: true, now: start + .microseconds(1)) == nil)
  }

  @Test func `Behind what is unconfirmed the rest of the interval is waited for`() {
    var window = SendWindow(.publishes)
    window.sent(at: start)
    #expect(window.delay(count: 1, isConfirmed: false, now: start) == interval)
    #expect(window.delay(count: 1, isConfirmed: false, now: start + .microseconds(1_500)) == .microseconds(500))
    #expect(window.delay(count: 1, isConfirmed: false, now: start + interval) == nil)
    window.sent(at: start + .seconds(1))
    #expect(window.delay(count: 1, isConfirmed: false, now: start + .seconds(1)) == interval)
  }

  @Test func `A patient one gathers from the first on`() {
    var window = SendWindow(patient)
    #expect(window.delay(count: 1, isConfirmed: true, now: start) == .milliseconds(10))
    #expect(window.delay(count: 3, isConfirmed: true, now: start + .milliseconds(4)) == .milliseconds(6))
    #expect(window.delay(count: 4, isConfirmed: true, now: start + .milliseconds(10)) == nil)
    window.sent(at: start + .milliseconds(10))
    // Also what comes long after the last, and while all is confirmed.
    #expect(window.delay(count: 1, isConfirmed: true, now: start + .seconds(1)) == .milliseconds(10))
  }

  @Test func `Enough is sent at once`() {
    var window = SendWindow(patient)
    #expect(window.delay(count: 63, isConfirmed: true, now: start) != nil)
    #expect(window.delay(count: 64, isConfirmed: true, now: start) == nil)
  }
}
