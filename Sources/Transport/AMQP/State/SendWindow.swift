/// Decides when a publisher sends what waits: after an interval, together with what comes in it, or, when it is prompt, at once while
/// nothing is unconfirmed.
///
/// RFC 896 (Nagle) does so for bytes; here it is for messages, as a broker that gets twenty at a time takes less work for each of them:
/// one read, one entry in its log, one confirm. With a prompt window who publishes rarely, and waits for each confirm, waits no longer.
struct SendWindow {
  typealias Instant = ContinuousClock.Instant

  private let gathering: Gathering
  private var lastSend: Instant?
  /// Since when something waits, as far as was asked.
  private var waitingSince: Instant?

  init(_ gathering: Gathering) { self.gathering = gathering }

  /// Something is being sent.
  mutating func sent(at now: Instant) {
    lastSend = now
    waitingSince = nil
  }

  /// - Parameters:
  ///   - count: how much waits.
  ///   - isConfirmed: whether all that was sent is confirmed.
  /// - Returns: how long what waits has to wait yet; `nil` when it may be sent.
  mutating func delay(count: Int, isConfirmed: Bool, now: Instant) -> Duration? {
    guard count < gathering.count else { return nil }
    if gathering.isPrompt {
      guard let lastSend, !isConfirmed else { return nil }
      return rest(since: lastSend, now)
    }
    let since = waitingSince ?? now
    waitingSince = since
    return rest(since: since, now)
  }

  private func rest(since: Instant, _ now: Instant) -> Duration? {
    let rest = gathering.interval - since.duration(to: now)
    return rest > .zero ? rest : nil
  }
}
