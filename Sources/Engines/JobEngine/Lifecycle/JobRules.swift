import SQLite

/// Limits for the life of a job.
public struct JobRules: Sendable, Hashable {
  /// Maximum repetitions of a job whose outcome is unknown when its rule is `resend`.
  public var maxUnknownResends = 2
  /// Minimum time left before the deadline for a call to begin.
  public var minCallTime: Duration = .seconds(1)
  /// Maximum wait of a job for a slot before it takes a retry delay instead.
  public var maxSlotWait: Duration = .seconds(60)
  /// The same where the worker has several lanes: long enough to serve a backlog of a working lane, so that it does not
  /// circulate through the retry delay. Short enough that a hanging lane does not block the jobs of the others.
  public var sharedSlotWait: Duration = .seconds(2)
  /// Time by which a claim outlives its call's timeout: it covers every possible delay from the claim to the record of
  /// the result. Were it shorter, another worker could take over a job whose provider has just accepted it.
  ///
  /// | cause | s |
  /// |---|---|
  /// | the claim waits for other writers of the ledger (`DatabaseOptions.busyTimeout`, and a quarter of it for its
  /// turn) | 6.25 |
  /// | a call that hangs (`CallGuard.slack`, `CallGuard.grace`) | 2.5 |
  /// | a look-up that hangs (`JobRun.lookUpTimeout`, slack and grace) | 7.5 |
  /// | the first record fails for want of the ledger, the second is made (`JobRun.settleWaits`) | 12.6 |
  ///
  /// If a third record is needed, the ledger has refused the claims of others meanwhile. That is not so where hosts share
  /// one: the connection of this host alone may be cut. There a batch takes 3.75 s at most
  /// (`PostgreSQLLedger.longestWrite`), and the lease begins with its write, so there is room for both records to wait
  /// for the batch under way as well: 3.75 + 2.5 + 7.5 + 15.1.
  ///
  /// With a shorter margin the writes get less time, so that the sum still fits.
  public var leaseMargin: Duration = .seconds(30)
  /// The margins that may be configured. A shorter one would leave a write of the ledger less than a second.
  public static let leaseMargins: ClosedRange<Duration> = .seconds(15) ... .seconds(300)

  /// The defaults.
  public init() {}
}

extension JobRules {
  /// Time of the margin for the ledger: the rest is for a call and a look-up that hang, and for the wait between two
  /// records.
  private var writing: Duration {
    leaseMargin - (CallGuard.slack + CallGuard.grace) * 2 - JobRun.lookUpTimeout - JobRun.settleWaits[0]
  }

  /// Maximum wait for other writers of a file, a quarter of it for the turn not included: a claim and two records wait.
  var busyTimeout: Duration { min(DatabaseOptions().busyTimeout, writing * 4 / 15) }

  /// Maximum duration of a batch at a server: a claim waits for one, and each of two records for two.
  var longestBatch: Duration { min(PostgreSQLLedger.longestWrite, writing / 5) }
}
