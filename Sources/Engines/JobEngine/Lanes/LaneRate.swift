/// A token bucket: so many calls a second in the mean, and so many at once after a pause.
public struct LaneRate: Sendable, Hashable {
  /// Calls a second in the mean, more than 0.
  public var perSecond: Double
  /// Calls at once after a pause, 1 or more.
  public var burst: Int

  /// - Parameters:
  ///   - perSecond: Calls a second in the mean, more than 0.
  ///   - burst: Calls at once after a pause, 1 or more.
  public init(perSecond: Double, burst: Int = 1) {
    precondition(perSecond > 0 && perSecond.isFinite, "A rate is more than 0.")
    precondition(burst >= 1, "A burst is at least one call.")
    self.perSecond = perSecond
    self.burst = burst
  }
}
