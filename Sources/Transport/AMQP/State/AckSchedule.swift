/// Decides when a consumer acknowledges what is finished, by itself or together with more.
struct AckSchedule {
  typealias Instant = ContinuousClock.Instant

  /// Part of the prefetch that may wait to be acknowledged: the broker hands out no others for them meanwhile.
  static let gatheredPart = 4
  /// Time that a finished delivery behind a delivery that is not may wait for that one. Then it is acknowledged by itself, so that the
  /// broker does not deliver it again if the connection is lost.
  static let gapInterval: Duration = .milliseconds(250)

  private let gathering: Gathering
  private let prefetch: Int
  private var lastFlush: Instant?
  /// Since when something has been finished and not acknowledged.
  private var finishedSince: Instant?
  /// Since when something has been finished behind a delivery that is not.
  private var gapSince: Instant?

  init(_ gathering: Gathering, prefetch: Int) {
    self.gathering = gathering
    self.prefetch = prefetch
  }

  /// When what is behind a gap has waited for long enough, if anything is.
  var gapDue: Instant? { gapSince.map { $0 + Self.gapInterval } }

  /// Something is finished and not acknowledged.
  mutating func finished(at now: Instant) { finishedSince = finishedSince ?? now }

  /// - Parameters:
  ///   - finished: how many are finished and not acknowledged.
  ///   - unacknowledged: how many are not acknowledged, finished or not.
  ///   - limit: the prefetch of the consumer.
  /// - Returns: how long what is finished may wait for more yet; `nil` when it is to be acknowledged.
  func rest(finished: Int, unacknowledged: Int, limit: Int, now: Instant) -> Duration? {
    if finished >= min(gathering.count, max(1, limit / Self.gatheredPart)) { return nil }
    if gathering.isPrompt, finished == unacknowledged { return nil }
    if isGapDue(finished: finished, now: now) { return nil }
    guard let since = gathering.isPrompt ? lastFlush : finishedSince else { return nil }
    let rest = gathering.interval - since.duration(to: now)
    return rest > .zero ? rest : nil
  }

  /// Whether what is behind a gap has waited for long enough, or takes half of what the broker hands out at a time.
  func isGapDue(finished: Int, now: Instant) -> Bool {
    guard let gapDue else { return false }
    return now >= gapDue || finished >= max(1, prefetch / 2)
  }

  /// Finished deliveries are being acknowledged.
  mutating func flushes(at now: Instant) {
    lastFlush = now
    finishedSince = nil
  }

  /// - Parameter behindGap: how many stayed behind a gap.
  mutating func flushed(behindGap: Int, now: Instant) {
    gapSince = behindGap > 0 ? gapSince ?? now : nil
  }

  /// The channel is gone, and with it what was to be acknowledged.
  mutating func reset() {
    gapSince = nil
    finishedSince = nil
  }
}
