import CountersignTelemetry

/// A clock's readings without a recent step forward, which is ignored for as long as an earlier lease may run.
struct StepFilter: Sendable {
  /// Maximum difference of a clock that is slewed, or read a moment later. Leases have a margin of many times that.
  static let tolerance: Duration = .seconds(1)

  private let longestLease: Duration
  /// Last reading at which the clock agreed with monotonic time.
  private var agreed: (wall: UnixTime, monotonic: MonotonicTime)?
  private var step: (size: Duration, seenAt: MonotonicTime)?

  init(longestLease: Duration) {
    self.longestLease = longestLease
  }

  mutating func time(_ wall: UnixTime, at monotonic: MonotonicTime) -> UnixTime {
    if let agreed {
      let expected = agreed.wall + (monotonic - agreed.monotonic)
      let ahead = wall - expected
      if ahead > Self.tolerance {
        let isKnown = step.map { ahead - $0.size <= Self.tolerance } ?? false
        if !isKnown { step = (ahead, monotonic) }
        if let step, monotonic - step.seenAt < longestLease { return expected }
      }
    }
    agreed = (wall, monotonic)
    step = nil
    return wall
  }

  /// Latest reading that leases may be judged by, for a clock that is read elsewhere. `nil` before the first one.
  func latest(at monotonic: MonotonicTime) -> UnixTime? {
    guard let agreed else { return nil }
    let expected = agreed.wall + (monotonic - agreed.monotonic) + Self.tolerance
    guard let step, monotonic - step.seenAt >= longestLease else { return expected }
    return expected + step.size
  }
}
