/// The numbers that the life of a job goes by.
public struct JobRules: Sendable, Hashable {
  /// How often a job whose outcome is unknown is tried again when its rule is `resend`.
  public var maximumUnknownResends = 2
  /// With less time than this left before the deadline no call is begun.
  public var minimumCallTime: Duration = .seconds(1)
  /// How long a job waits for a slot before it takes a delay step instead.
  public var maximumSlotWait: Duration = .seconds(60)
  /// How long a claim outlives its call's time-out: the ending of a call that hangs, and a look-up.
  public var leaseMargin: Duration = .seconds(10)

  /// The defaults.
  public init() {}
}
