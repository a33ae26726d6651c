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
  /// Time by which a claim outlives its call's time-out: whatever may take time from the claim to the record of the result. Were it
  /// shorter, another worker could take a job for lost whose provider has just accepted it.
  ///
  /// | what | s |
  /// |---|---|
  /// | the claim waits for other writers of the ledger (`DatabaseOptions.busyTimeout`, and a quarter of it for its turn) | 6.25 |
  /// | a call that hangs (`CallGuard.slack`, `CallGuard.grace`) | 2.5 |
  /// | a look-up that hangs (`JobRun.lookUpTimeout`, slack and grace) | 7.5 |
  /// | the first record fails for want of the ledger, the second is made (`JobRun.settleWaits`) | 12.6 |
  ///
  /// A third record that is needed finds a ledger that nobody could claim by meanwhile.
  public var leaseMargin: Duration = .seconds(30)

  /// The defaults.
  public init() {}
}
