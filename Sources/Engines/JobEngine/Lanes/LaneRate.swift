/// A token bucket: an average rate, and a burst after a pause.
public struct LaneRate: Sendable, Hashable {
  /// Average calls a second, more than 0.
  public var perSecond: Double
  /// Calls at once after a pause, 1 or more.
  public var burst: Int

  /// - Parameters:
  ///   - perSecond: average calls a second, more than 0.
  ///   - burst: calls at once after a pause, 1 or more.
  public init(perSecond: Double, burst: Int = 1) {
    precondition(perSecond > 0 && perSecond.isFinite, "A rate is more than 0.")
    precondition(burst >= 1, "A burst is at least one call.")
    self.perSecond = perSecond
    self.burst = burst
  }
}
