public import CountersignMessages

/// Names and limits of a worker.
public struct JobWorkerOptions: Sendable, Hashable {
  /// The queue that jobs come from, and return to after a delay. Dead letters, metrics and the routing keys of results
  /// name it.
  public var queue: String
  /// The program and the user of the broker that messages name (`app_id`, `user_id`): `sms-worker`.
  public var author: Author
  /// Limits for the life of a job.
  public var rules = JobRules()
  /// Maximum jobs in flight: also bounds the redeliveries after a reconnect, for which twice the prefetch leaves room.
  public var maxInFlight = 2048
  /// Time for which the ledger remembers a job after its deadline, when no call may follow: covers the longest retry
  /// delay (1 h), after which a copy may return, and an absence of the broker or a host.
  public var retention: Duration = .seconds(6 * 3600)
  /// Deadlines further ahead count as this, so that a job of the year 9999 is forgotten as well.
  public var longestDeadline: Duration = .seconds(30 * 24 * 3600)
  /// Minimum time for which the ledger remembers a job of `matchedLanes`: networks report up to three days later.
  public var matchedRetention: Duration = .seconds(72 * 3600)
  /// Size of the ledger's file in bytes above which the oldest ended jobs are forgotten early.
  public var maxLedgerBytes: Int64 = 8 << 30
  /// Lanes whose accepted jobs are found by the provider's own ID, because their providers report by nothing else.
  public var matchedLanes: Set<String> = []
  /// Whether workers of other hosts, with ledgers of their own, consume the same queue.
  public var hasOtherHosts = false
  /// Time for which a stop waits for begun jobs before it gives up publishing for them. They are delivered again then.
  /// It should be longer than a call may take, and shorter than the ceiling of the process's stop.
  public var drainTimeout: Duration = .seconds(13)
  /// Number of consecutive claims that the ledger failed to write after which the worker pauses.
  public var ledgerFailureThreshold = 10
  /// Duration of the pause: doubled from the shortest to the longest, with jitter.
  public var ledgerPause: ClosedRange<Duration> = .seconds(1) ... .seconds(30)

  public init(queue: String, author: Author) {
    self.queue = queue
    self.author = author
  }
}
