public import CountersignTelemetry

/// Delivery report `sms.delivery.result`: a provider's report on an SMS that it accepted.
///
/// It is published with the results of the jobs and repeats the job's `correlation_id`. Its `message_id` is the same
/// for every repetition of the same report.
public struct SMSDeliveryReport: MessageBody, Hashable {
  public static let type = MessageType("sms.delivery.result")

  /// Fate of the SMS.
  public enum State: String, ContractWord {
    /// The SMS reached the handset.
    case delivered
    /// The SMS will not reach the handset.
    case undelivered
  }

  /// `message_id` of the job. Absent if the report has only the provider's ID.
  public var jobID: String?
  public var state: State
  /// Lane that took the SMS.
  public var lane: String
  /// The provider's ID of the SMS.
  public var reference: String?
  /// Reason of a failed delivery.
  public var reason: JobResult.Reason?
  /// Time of the event according to the provider. Time of the report if the provider gives none.
  public var at: UnixTime

  public init(
    jobID: String? = nil, state: State, lane: String, reference: String? = nil, reason: JobResult.Reason? = nil,
    at: UnixTime
  ) {
    self.jobID = jobID
    self.state = state
    self.lane = lane
    self.reference = reference
    self.reason = reason
    self.at = at
  }

  /// Routing key on the exchange of the results: `sms.delivery.delivered`.
  public var routingKey: String { "\(Self.routingKeyPrefix).\(state.rawValue)" }

  /// Part before the state in the routing key.
  public static let routingKeyPrefix = "sms.delivery"

  /// `message_id`, the same for every repetition.
  public var messageID: String {
    let subject = jobID ?? "\(lane).\(reference ?? "")"
    return "\(subject).\(state.rawValue)"
  }
}
