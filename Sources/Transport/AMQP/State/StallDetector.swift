/// Decides when a consumer that gets nothing is broken: the process lives, the queue fills, nothing arrives.
///
/// After `timeout` without a delivery, and with room in the prefetch, the queue is asked for its ready messages; if it
/// has some and still none arrives until the second look, the consumer is broken. One look is not enough: messages may
/// have come in at that very moment.
struct StallDetector {
  typealias Instant = ContinuousClock.Instant

  /// The second look follows after this part of the time-out.
  static let secondLook = 4

  private let timeout: Duration
  /// When the next look is due, unless something is delivered.
  private(set) var due: Instant
  private var isSuspicious = false

  init(timeout: Duration, now: Instant) {
    self.timeout = timeout
    self.due = now + timeout
  }

  /// Something was delivered, or the consumer has no room, or is not meant to get anything.
  mutating func healthy(now: Instant) {
    due = now + timeout
    isSuspicious = false
  }

  func isDue(now: Instant) -> Bool { now >= due }

  /// - Parameter ready: messages that wait in the queue.
  /// - Returns: whether the consumer is broken.
  mutating func looked(ready: Int, now: Instant) -> Bool {
    guard ready > 0 else {
      healthy(now: now)
      return false
    }
    if isSuspicious { return true }
    isSuspicious = true
    due = now + timeout / Self.secondLook
    return false
  }
}
