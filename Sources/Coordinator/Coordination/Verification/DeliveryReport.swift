/// A provider's later report on an SMS that it accepted.
public struct DeliveryReport: Sendable, Hashable {
  /// Number of the SMS within its verification, from 1.
  public var number: Int
  /// Whether it reached the handset.
  public var isDelivered: Bool
  /// Lane of the SMS, such as `twilio-eu`.
  public var lane: String?
  /// The provider's own ID of the SMS.
  public var reference: String?
  /// Reason that it was not delivered.
  public var reason: VerificationFailure?

  public init(
    number: Int, isDelivered: Bool, lane: String? = nil, reference: String? = nil, reason: VerificationFailure? = nil
  ) {
    self.number = number
    self.isDelivered = isDelivered
    self.lane = lane
    self.reference = reference
    self.reason = reason
  }
}
