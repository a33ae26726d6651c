public import CountersignTelemetry

/// A worker's claim to a job.
public struct LedgerClaim: Sendable, Hashable {
  /// The job's message ID.
  public var messageID: String
  /// The job: its sender, type and message ID (`MessageIdentity`). Another sender's job of the same ID is another job.
  public var key: String
  /// Distinguishes this claim from every other one, also of the same worker.
  public var token: Int64
  /// The lane that the call takes.
  public var lane: String
  /// Time of the claim, and the times until which it holds.
  public var times: Times
  /// Number of times the message may have been begun without this ledger's knowledge: by a worker of another host, or
  /// with a ledger that does not remember. Without a record, the job then counts as begun.
  public var redeliveries: Int
  /// Tokens of earlier claims to the job that failed, so that no call followed. A ledger that recorded one nonetheless
  /// gives its place to this claim, at the latest when its lease ends.
  public var failedTokens: [Int64] = []
  /// Key for a later report of the provider. Recorded when the job is settled.
  public var match: LedgerMatch?

  /// - Parameters:
  ///   - messageID: the job's message ID.
  ///   - key: the job: its sender, type and message ID; `nil` for the message ID.
  ///   - token: distinguishes this claim from every other one.
  ///   - lane: the lane that the call takes.
  ///   - times: time of the claim, and the times until which it holds.
  ///   - redeliveries: number of times the message may have been begun elsewhere.
  public init(
    messageID: String, key: String? = nil, token: Int64, lane: String, times: Times, redeliveries: Int = 0
  ) {
    self.messageID = messageID
    self.key = key ?? messageID
    self.token = token
    self.lane = lane
    self.times = times
    self.redeliveries = redeliveries
  }
}

extension LedgerClaim {
  /// Times of a claim.
  public struct Times: Sendable, Hashable {
    /// Time of the claim.
    public var now: UnixTime
    /// The time by which the expiry of another claim's lease is judged: `now`, unless the clock has just been adjusted.
    public var judgedAt: UnixTime
    /// Time until which no other worker may take the job: the end of the call, with a margin.
    public var leaseUntil: UnixTime
    /// Time until which the job is remembered: as long as it could be delivered again.
    public var keepUntil: UnixTime

    /// - Parameters:
    ///   - now: time of the claim.
    ///   - judgedAt: the time by which another claim's lease is judged; `nil` for `now`.
    ///   - leaseUntil: time until which no other worker may take the job; after `now`.
    ///   - keepUntil: time until which the job is remembered; `nil` for two days from `now`.
    public init(now: UnixTime, judgedAt: UnixTime? = nil, leaseUntil: UnixTime, keepUntil: UnixTime? = nil) {
      self.now = now
      self.judgedAt = judgedAt ?? now
      self.leaseUntil = leaseUntil
      self.keepUntil = keepUntil ?? now + .seconds(48 * 3600)
    }
  }
}

/// Key for finding a job again: the lane that carried it out, and the provider's own ID.
public struct LedgerMatch: Sendable, Hashable {
  /// The lane.
  public var lane: String
  /// The provider's own ID.
  public var reference: String
  /// The job's `correlation_id`.
  public var correlationID: String?

  public init(lane: String, reference: String, correlationID: String? = nil) {
    self.lane = lane
    self.reference = reference
    self.correlationID = correlationID
  }

  /// Names of lanes contain no spaces.
  var key: String { "\(lane) \(reference)" }
}
