/// Decides when a publish that the broker has not confirmed is late. The clock stands still while the broker does not read.
struct ConfirmClock {
  typealias Instant = ContinuousClock.Instant

  private let timeout: Duration
  /// When the broker began to read: confirms are not late before that.
  private var readsSince: Instant?

  init(timeout: Duration) { self.timeout = timeout }

  /// The broker reads from now on: the channel is new, or an alarm is over.
  mutating func start(at now: Instant) { readsSince = now }

  /// - Parameters:
  ///   - oldest: when the oldest publish that is not confirmed was sent.
  ///   - isBlocked: whether the broker does not read for now.
  /// - Returns: when that publish is late; `nil` when none can be.
  func due(oldest: Instant?, isBlocked: Bool) -> Instant? {
    guard let oldest, !isBlocked else { return nil }
    return max(oldest, readsSince ?? oldest) + timeout
  }
}
