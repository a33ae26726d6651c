import Testing

@testable import AMQP

struct SendWindowTests {
  private let start = ContinuousClock.now

  @Test func theFirstIsSentAtOnce() {
    #expect(SendWindow().delay(isConfirmed: true, now: start) == nil)
    #expect(SendWindow().delay(isConfirmed: false, now: start) == nil)
  }

  @Test func whoWaitsForEachConfirmIsNotHeldUp() {
    var window = SendWindow()
    window.sent(at: start)
    #expect(window.delay(isConfirmed: true, now: start + .microseconds(1)) == nil)
  }

  @Test func behindWhatIsUnconfirmedTheRestOfTheIntervalIsWaitedFor() {
    var window = SendWindow()
    window.sent(at: start)
    #expect(window.delay(isConfirmed: false, now: start) == SendWindow.interval)
    #expect(window.delay(isConfirmed: false, now: start + .microseconds(1_500)) == .microseconds(500))
    #expect(window.delay(isConfirmed: false, now: start + SendWindow.interval) == nil)
    window.sent(at: start + .seconds(1))
    #expect(window.delay(isConfirmed: false, now: start + .seconds(1)) == SendWindow.interval)
  }
}
