/// What a worker reports about one message of a verification.
public struct JobReport: Sendable, Hashable {
  /// What became of the message.
  public enum Outcome: String, Sendable, Codable {
    /// A provider took it.
    case accepted
    /// It will never be sent.
    case refused
    /// Its deadline passed before it could be sent.
    case expired
    /// It may or may not have been sent.
    case unknown
  }

  /// Which message of the verification, from 1.
  public var number: Int
  public var outcome: Outcome
  /// The way it went, such as `twilio-eu`.
  public var lane: String?
  /// The process that sent it.
  public var worker: String?
  /// The provider's own ID of the message.
  public var reference: String?
  /// Why it was not accepted.
  public var reason: VerificationFailure?
  /// How often it was tried.
  public var attempts: Int?
  /// How many parts it was sent in.
  public var segments: Int?

  public init(
    number: Int, outcome: Outcome, lane: String? = nil, worker: String? = nil, reference: String? = nil,
    reason: VerificationFailure? = nil, attempts: Int? = nil, segments: Int? = nil
  ) {
    self.number = number
    self.outcome = outcome
    self.lane = lane
    self.worker = worker
    self.reference = reference
    self.reason = reason
    self.attempts = attempts
    self.segments = segments
  }
}
