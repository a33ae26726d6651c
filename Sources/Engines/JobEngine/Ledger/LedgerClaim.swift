public import CountersignTelemetry

/// A worker's claim to a job.
public struct LedgerClaim: Sendable, Hashable {
  /// The job's message ID. A job that a ledger has from before version 5 is known by it alone.
  public var messageID: String
  /// The job: its sender, type and message ID (`MessageIdentity`). Another sender's job of the same ID is another job.
  public var key: String
  /// Tells this claim from every other one, also of the same worker.
  public var token: Int64
  /// The lane that the call takes.
  public var lane: String
  /// When the claim is made.
  public var now: UnixTime
  /// The time by which another claim's lease is over or not: `now`, but for a step of the clock that has just come.
  public var judgedAt: UnixTime
  /// Until when nobody else may take the job: the end of the call, with a margin.
  public var leaseUntil: UnixTime
  /// Until when the job is remembered: as long as it could come again.
  public var keepUntil: UnixTime
  /// Number of times the message may have been begun where this ledger does not know of it: by a worker of another host, or with a ledger that
  /// does not remember. Without a record of the job, it counts as begun then.
  public var redeliveries: Int
  /// What a report of the provider, later, is matched with the job by; recorded when the job is settled.
  public var match: LedgerMatch?

  /// - Parameters:
  ///   - messageID: The job's message ID.
  ///   - key: The job: its sender, type and message ID; the message ID if nil.
  ///   - token: Tells this claim from every other one.
  ///   - lane: The lane that the call takes.
  ///   - now: When the claim is made.
  ///   - judgedAt: The time by which another claim's lease is over or not; `now` if nil.
  ///   - leaseUntil: Until when nobody else may take the job; after `now`.
  ///   - keepUntil: Until when the job is remembered; two days from `now` if nil.
  ///   - redeliveries: How often the message may have been begun elsewhere.
  public init(
    messageID: String, key: String? = nil, token: Int64, lane: String, now: UnixTime, judgedAt: UnixTime? = nil,
    leaseUntil: UnixTime, keepUntil: UnixTime? = nil, redeliveries: Int = 0
  ) {
    self.messageID = messageID
    self.key = key ?? messageID
    self.token = token
    self.lane = lane
    self.now = now
    self.judgedAt = judgedAt ?? now
    self.leaseUntil = leaseUntil
    self.keepUntil = keepUntil ?? now + .seconds(48 * 3600)
    self.redeliveries = redeliveries
  }
}

/// By what a job is found again: the lane that carried it out, and the provider's own ID.
public struct LedgerMatch: Sendable, Hashable {
  /// The lane.
  public var lane: String
  /// The provider's own ID.
  public var reference: String
  /// The job's `correlation_id`.
  public var correlationID: String?

  /// - Parameters:
  ///   - lane: The lane.
  ///   - reference: The provider's own ID.
  ///   - correlationID: The job's `correlation_id`.
  public init(lane: String, reference: String, correlationID: String? = nil) {
    self.lane = lane
    self.reference = reference
    self.correlationID = correlationID
  }

  /// Lanes have no spaces in their names.
  var key: String { "\(lane) \(reference)" }
}
