/// Decides when an unconfirmed publish is late. The clock stops while the broker does not read.
struct ConfirmClock {
  typealias Instant = ContinuousClock.Instant

  private let timeout: Duration
  /// Time at which the broker began to read; earlier waiting does not count.
  private var readsSince: Instant?

  init(timeout: Duration) { self.timeout = timeout }

  /// Notes that the broker reads from now on: the channel is new, or an alarm is over.
  mutating func start(at now: Instant) { readsSince = now }

  /// - Parameters:
  ///   - oldest: time at which the oldest unconfirmed publish was sent.
  ///   - isBlocked: whether the broker has stopped reading for now.
  /// - Returns: time at which that publish is late; `nil` if none can be.
  func due(oldest: Instant?, isBlocked: Bool) -> Instant? {
    guard let oldest, !isBlocked else { return nil }
    return max(oldest, readsSince ?? oldest) + timeout
  }
}
