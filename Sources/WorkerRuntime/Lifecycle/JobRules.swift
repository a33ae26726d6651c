/// The numbers that the life of a job goes by.
public struct JobRules: Sendable, Hashable {
  /// How often a job whose outcome is unknown is tried again when its rule is `resend`.
  public var maximumUnknownResends = 2
  /// With less time than this left before the deadline no call is begun.
  public var minimumCallTime: Duration = .seconds(1)
  /// How long a job waits for a slot before it takes a delay step instead.
  public var maximumSlotWait: Duration = .seconds(60)
  /// The same where the worker has several lanes: long enough for a backlog of a lane that works to be served, so that it does
  /// not circulate through the delay step; short enough that a lane that hangs does not keep the jobs of the others from being
  /// taken.
  public var sharedSlotWait: Duration = .seconds(2)
  /// How long a claim outlives its call's time-out: the ending of a call that hangs, and a look-up.
  public var leaseMargin: Duration = .seconds(10)

  /// The defaults.
  public init() {}
}
