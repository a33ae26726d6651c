public import CountersignMessages

/// What a worker is called, and its limits.
public struct JobWorkerOptions: Sendable, Hashable {
  /// The queue that the jobs come from, and come back to from a delay; dead letters, metrics and the routing keys of results name it.
  public var queue: String
  /// The program and the user of the broker that messages name (`app_id`, `user_id`): `sms-worker`.
  public var author: Author
  /// The numbers that the life of a job goes by.
  public var rules = JobRules()
  /// Jobs in flight at which no more are taken: the bound also when the broker delivers anew after a reconnect. Twice the
  /// prefetch leaves room for that.
  public var maximumInFlight = 2048
  /// Time for which the ledger remembers a job after its deadline, when no call may follow any more: for the longest delay step (1 h), from which
  /// a copy may come back, and for a broker or a host that was away.
  public var retention: Duration = .seconds(6 * 3600)
  /// No deadline counts for more than this, so that a job of the year 9999 is forgotten as well.
  public var longestDeadline: Duration = .seconds(30 * 24 * 3600)
  /// Time for which the ledger remembers a job of `matchedLanes` at least: networks report up to three days later.
  public var matchedRetention: Duration = .seconds(72 * 3600)
  /// Number of bytes that the ledger's file may hold before the oldest jobs that ended are forgotten before their time.
  public var maximumLedgerBytes: Int64 = 8 << 30
  /// Lanes whose accepted jobs are found again by the provider's own ID, because their providers report by nothing else.
  public var matchedLanes: Set<String> = []
  /// Whether workers of other hosts, with ledgers of their own, take jobs of the same queue.
  public var hasOtherHosts = false
  /// How long a stop waits for the jobs that have begun before it gives up publishing for them. They are delivered again then.
  /// It should be longer than a call may take, and shorter than the ceiling of the process's stop.
  public var drainTimeout: Duration = .seconds(13)
  /// After so many claims in a row that the ledger could not write the worker pauses.
  public var ledgerFailureThreshold = 10
  /// How long it pauses then: doubled from the shortest to the longest, with jitter.
  public var ledgerPause: ClosedRange<Duration> = .seconds(1) ... .seconds(30)

  /// - Parameters:
  ///   - queue: The queue that the jobs come from.
  ///   - author: The program and the user of the broker that messages name.
  public init(queue: String, author: Author) {
    self.queue = queue
    self.author = author
  }
}
