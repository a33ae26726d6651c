struct AckSchedule {
  typealias Instant = ContinuousClock.Instant

  /// Part of the prefetch that may wait for its acknowledgement. The broker sends no replacements for it.
  static let gatheredPart = 4
  /// Maximum time a finished delivery waits for an earlier, unfinished one. It is then acknowledged individually, so
  /// that the broker does not repeat it if the connection is lost.
  static let gapInterval: Duration = .milliseconds(250)

  private let gathering: Gathering
  private let prefetch: Int
  private var lastFlush: Instant?
  private var finishedSince: Instant?
  private var gapSince: Instant?

  init(_ gathering: Gathering, prefetch: Int) {
    self.gathering = gathering
    self.prefetch = prefetch
  }

  var gapDue: Instant? { gapSince.map { $0 + Self.gapInterval } }

  mutating func finished(at now: Instant) { finishedSince = finishedSince ?? now }

  func rest(finished: Int, unacknowledged: Int, limit: Int, now: Instant) -> Duration? {
    if finished >= min(gathering.count, max(1, limit / Self.gatheredPart)) { return nil }
    if gathering.isPrompt, finished == unacknowledged { return nil }
    if isGapDue(finished: finished, now: now) { return nil }
    guard let since = gathering.isPrompt ? lastFlush : finishedSince else { return nil }
    let rest = gathering.interval - since.duration(to: now)
    return rest > .zero ? rest : nil
  }

  func isGapDue(finished: Int, now: Instant) -> Bool {
    guard let gapDue else { return false }
    return now >= gapDue || finished >= max(1, prefetch / 2)
  }

  mutating func flushes(at now: Instant) {
    lastFlush = now
    finishedSince = nil
  }

  mutating func flushed(behindGap: Int, now: Instant) {
    gapSince = behindGap > 0 ? gapSince ?? now : nil
  }

  /// The channel is gone, and with it the pending acknowledgements.
  mutating func reset() {
    gapSince = nil
    finishedSince = nil
  }
}
