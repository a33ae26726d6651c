/// Decides when a publisher sends what waits: at once while nothing is unconfirmed, otherwise together with what comes in a short while.
///
/// RFC 896 (Nagle) does so for bytes; here it is for messages, as a broker that gets twenty at a time takes less work for each of them:
/// one read, one entry in its log, one confirm. Who publishes rarely, and waits for each confirm, waits no longer.
struct SendWindow {
  typealias Instant = ContinuousClock.Instant

  /// The longest that a message waits for others.
  static let interval: Duration = .milliseconds(2)

  private var lastSend: Instant?

  /// Something is being sent.
  mutating func sent(at now: Instant) { lastSend = now }

  /// - Parameter isConfirmed: whether all that was sent is confirmed.
  /// - Returns: how long what waits has to wait yet; `nil` when it may be sent.
  func delay(isConfirmed: Bool, now: Instant) -> Duration? {
    guard let lastSend, !isConfirmed else { return nil }
    let rest = Self.interval - lastSend.duration(to: now)
    return rest > .zero ? rest : nil
  }
}
