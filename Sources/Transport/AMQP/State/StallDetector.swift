/// Detects a broken consumer: the process is alive and the queue fills, but no delivery arrives.
///
/// After `timeout` without a delivery, and with room in the prefetch, the queue is asked for its ready messages. If it
/// has some and still none arrives until a second check, the consumer is broken.
struct StallDetector {
  typealias Instant = ContinuousClock.Instant

  /// Divisor of the time-out that gives the delay of the second check.
  static let secondLook = 4

  private let timeout: Duration
  private(set) var due: Instant
  private var isSuspicious = false

  init(timeout: Duration, now: Instant) {
    self.timeout = timeout
    self.due = now + timeout
  }

  /// Notes a delivery, a consumer without room, or one that is not meant to receive any.
  mutating func recordHealth(now: Instant) {
    due = now + timeout
    isSuspicious = false
  }

  func isDue(now: Instant) -> Bool { now >= due }

  mutating func recordCheck(ready: Int, now: Instant) -> Bool {
    guard ready > 0 else {
      recordHealth(now: now)
      return false
    }
    if isSuspicious { return true }
    isSuspicious = true
    due = now + timeout / Self.secondLook
    return false
  }
}
