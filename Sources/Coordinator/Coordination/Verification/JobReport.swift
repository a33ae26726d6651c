/// A worker's report on one SMS of a verification.
public struct JobReport: Sendable, Hashable {
  /// Outcome of the SMS.
  public enum Outcome: String, Sendable, Codable {
    /// A provider accepted it.
    case accepted
    /// It will never be sent.
    case refused
    /// Its deadline passed before it could be sent.
    case expired
    /// It may or may not have been sent.
    case unknown
  }

  /// Number of the SMS within its verification, from 1.
  public var number: Int
  public var outcome: Outcome
  /// Lane of the SMS, such as `twilio-eu`.
  public var lane: String?
  /// The worker process that sent it.
  public var worker: String?
  /// The provider's own ID of the SMS.
  public var reference: String?
  /// Reason that it was not accepted.
  public var reason: VerificationFailure?
  /// Number of attempts.
  public var attempts: Int?
  /// Number of segments.
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
