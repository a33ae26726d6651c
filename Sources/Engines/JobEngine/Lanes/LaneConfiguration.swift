/// Limits of a lane, and the conditions under which it counts as down.
public struct LaneConfiguration: Sendable, Hashable {
  /// The lane's name in jobs, results, logs and metrics (`twilio-eu`).
  public var name: String
  /// Calls in flight at once, 1 or more.
  public var concurrency: Int
  /// The provider's rate limit. Without one only `concurrency` bounds the lane.
  public var rate: LaneRate?
  /// Maximum duration of a call. The engine then ends it, and its outcome is unknown.
  public var callTimeout: Duration
  /// Consecutive failed calls (`retry` or `unknown`) after which the lane counts as down. 0 never.
  public var breakerThreshold: Int
  /// Time between probes of a lane that is down: doubled from the minimum to the maximum, with jitter.
  public var probeDelay: ClosedRange<Duration>

  /// Maximum jobs that wait for a slot. Further ones take a retry delay of 5 s, uncounted. `nil`: bounded by the
  /// prefetch, and by the time that a job may wait (`JobRules.sharedSlotWait`).
  public var maxWaiting: Int?

  /// - Parameters:
  ///   - name: the lane's name.
  ///   - concurrency: calls in flight at once, 1 or more.
  ///   - rate: the provider's rate limit, if any.
  ///   - callTimeout: maximum duration of a call; more than zero.
  ///   - breakerThreshold: consecutive failed calls after which the lane counts as down; 0 never.
  ///   - probeDelay: shortest and longest time between probes of a lane that is down; more than zero.
  ///   - maxWaiting: maximum jobs that wait for a slot, 0 or more; `nil` as described at the property.
  public init(
    name: String, concurrency: Int = 64, rate: LaneRate? = nil, callTimeout: Duration = .seconds(10),
    breakerThreshold: Int = 20, probeDelay: ClosedRange<Duration> = .seconds(1) ... .seconds(60),
    maxWaiting: Int? = nil
  ) {
    precondition(concurrency >= 1, "A lane needs at least one slot.")
    precondition(callTimeout > .zero, "A call needs some time.")
    precondition(breakerThreshold >= 0, "A breaker's threshold is not negative.")
    precondition(probeDelay.lowerBound > .zero, "A lane that is down has to be left alone for some time.")
    precondition(maxWaiting ?? 0 >= 0, "A number of waiting jobs is not negative.")
    self.maxWaiting = maxWaiting
    self.name = name
    self.concurrency = concurrency
    self.rate = rate
    self.callTimeout = callTimeout
    self.breakerThreshold = breakerThreshold
    self.probeDelay = probeDelay
  }
}
