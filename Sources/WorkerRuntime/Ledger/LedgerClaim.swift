public import Telemetry

/// A worker's claim to a job.
public struct LedgerClaim: Sendable, Hashable {
  /// The job: its message ID.
  public var messageID: String
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
  /// How often the broker says that it has delivered the message before; what a ledger without memory goes by.
  public var redeliveries: Int
  /// What a report of the provider, later, is matched with the job by; recorded when the job is settled.
  public var match: LedgerMatch?

  /// - Parameters:
  ///   - messageID: The job: its message ID.
  ///   - token: Tells this claim from every other one.
  ///   - lane: The lane that the call takes.
  ///   - now: When the claim is made.
  ///   - judgedAt: The time by which another claim's lease is over or not; `now` if nil.
  ///   - leaseUntil: Until when nobody else may take the job; after `now`.
  ///   - keepUntil: Until when the job is remembered; two days from `now` if nil.
  ///   - redeliveries: How often the message was delivered before.
  public init(
    messageID: String, token: Int64, lane: String, now: UnixTime, judgedAt: UnixTime? = nil,
    leaseUntil: UnixTime, keepUntil: UnixTime? = nil, redeliveries: Int = 0
  ) {
    self.messageID = messageID
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
