public import CountersignTelemetry

/// What a provider reports later of a message that it took: `sms.delivery.result`.
///
/// It is published with the results of the jobs. It repeats the job's `correlation_id`, and its `message_id` is the same for
/// every repetition of the same report.
public struct SMSDeliveryReport: MessageBody, Hashable {
  public static let type = MessageType("sms.delivery.result")

  /// What became of the message.
  public enum State: String, ContractWord {
    /// It reached the handset.
    case delivered
    /// It did not, and will not.
    case undelivered
  }

  /// The `message_id` of the job; absent when the report names only the provider's own ID.
  public var jobID: String?
  public var state: State
  /// The lane that took it.
  public var lane: String
  /// The provider's own ID of the message.
  public var reference: String?
  /// Why it was not delivered.
  public var reason: JobResult.Reason?
  /// When the provider says that it happened; when it was reported, if the provider does not say.
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

  /// The routing key on the exchange of the results: `sms.delivery.delivered`.
  public var routingKey: String { "\(Self.routingKeyPrefix).\(state.rawValue)" }

  /// Part before the state in the routing key.
  public static let routingKeyPrefix = "sms.delivery"

  /// The `message_id`, the same for every repetition.
  public var messageID: String {
    let subject = jobID ?? "\(lane).\(reference ?? "")"
    return "\(subject).\(state.rawValue)"
  }
}
