/// How much one lane may carry, and when it counts as down.
public struct LaneConfiguration: Sendable, Hashable {
  /// The lane's name, as jobs, results, logs and metrics show it (`twilio-eu`).
  public var name: String
  /// Calls in flight at once, 1 or more.
  public var concurrency: Int
  /// The provider's rate limit; without one only `concurrency` bounds the lane.
  public var rate: LaneRate?
  /// How long one call may take in all. The engine ends it then, and takes the outcome for unknown.
  public var callTimeout: Duration
  /// After so many failed calls in a row (`retry` or `unknown`) the lane counts as down; 0 never.
  public var breakerThreshold: Int
  /// How long a lane that is down is left alone: doubled from the minimum to the maximum, with jitter.
  public var probeDelay: ClosedRange<Duration>

  /// Jobs that wait for a slot, at most; further ones take a delay step of 5 s, uncounted. Nil: no bound but the prefetch, and
  /// the time that a job may wait (`JobRules.sharedSlotWait`).
  public var maximumWaiting: Int?

  /// - Parameters:
  ///   - name: The lane's name.
  ///   - concurrency: Calls in flight at once, 1 or more.
  ///   - rate: The provider's rate limit, if it has one.
  ///   - callTimeout: How long one call may take in all; more than zero.
  ///   - breakerThreshold: Failed calls in a row after which the lane counts as down; 0 never.
  ///   - probeDelay: Shortest and longest time that a lane that is down is left alone; more than zero.
  ///   - maximumWaiting: Jobs that wait for a slot, at most, 0 or more; nil as described at the property.
  public init(
    name: String, concurrency: Int = 64, rate: LaneRate? = nil, callTimeout: Duration = .seconds(10),
    breakerThreshold: Int = 20, probeDelay: ClosedRange<Duration> = .seconds(1) ... .seconds(60),
    maximumWaiting: Int? = nil
  ) {
    precondition(concurrency >= 1, "A lane needs at least one slot.")
    precondition(callTimeout > .zero, "A call needs some time.")
    precondition(breakerThreshold >= 0, "A breaker's threshold is not negative.")
    precondition(probeDelay.lowerBound > .zero, "A lane that is down has to be left alone for some time.")
    precondition(maximumWaiting ?? 0 >= 0, "A number of waiting jobs is not negative.")
    self.maximumWaiting = maximumWaiting
    self.name = name
    self.concurrency = concurrency
    self.rate = rate
    self.callTimeout = callTimeout
    self.breakerThreshold = breakerThreshold
    self.probeDelay = probeDelay
  }
}
