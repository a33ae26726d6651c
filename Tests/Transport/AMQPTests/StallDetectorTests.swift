import Testing

@testable import CountersignAMQP

struct StallDetectorTests {
  private let start = ContinuousClock.now

  private func detector() -> StallDetector { StallDetector(timeout: .seconds(30), now: start) }

  @Test func `Nothing is asked before the time out`() {
    var detector = detector()
    #expect(!detector.isDue(now: start + .seconds(29)))
    #expect(detector.isDue(now: start + .seconds(30)))
    detector.recordHealth(now: start + .seconds(20))
    #expect(!detector.isDue(now: start + .seconds(49)))
    #expect(detector.isDue(now: start + .seconds(50)))
  }

  @Test func `An empty queue is healthy`() {
    var detector = detector()
    for look in 1...5 {
      let now = start + .seconds(30 * look)
      #expect(detector.isDue(now: now))
      let isBroken = detector.recordCheck(ready: 0, now: now)
      #expect(!isBroken)
      #expect(!detector.isDue(now: now + .seconds(29)))
    }
  }

  @Test func `Messages at two looks without a delivery are a stall`() {
    var detector = detector()
    let first = detector.recordCheck(ready: 3, now: start + .seconds(30))
    #expect(!first)
    #expect(!detector.isDue(now: start + .seconds(37)))
    #expect(detector.isDue(now: start + .milliseconds(37_500)))
    let second = detector.recordCheck(ready: 3, now: start + .seconds(38))
    #expect(second)
  }

  @Test func `A delivery or an empty queue between the looks clears the suspicion`() {
    var detector = detector()
    _ = detector.recordCheck(ready: 3, now: start + .seconds(30))
    detector.recordHealth(now: start + .seconds(31))
    let afterDelivery = detector.recordCheck(ready: 3, now: start + .seconds(61))
    #expect(!afterDelivery)
    let empty = detector.recordCheck(ready: 0, now: start + .seconds(70))
    #expect(!empty)
    let again = detector.recordCheck(ready: 1, now: start + .seconds(100))
    #expect(!again)
  }
}
