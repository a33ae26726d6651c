/// Decides when a publisher sends waiting messages: after an interval that lets others join them, or, if it is prompt,
/// at once while nothing is unconfirmed.
///
/// It is Nagle's algorithm (RFC 896) for messages: a broker that gets twenty at a time does less work for each.
struct SendWindow {
  typealias Instant = ContinuousClock.Instant

  private let gathering: Gathering
  private var lastSend: Instant?
  /// Time since which messages wait, as far as `delay` was called.
  private var waitingSince: Instant?

  init(_ gathering: Gathering) { self.gathering = gathering }

  mutating func sent(at now: Instant) {
    lastSend = now
    waitingSince = nil
  }

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
