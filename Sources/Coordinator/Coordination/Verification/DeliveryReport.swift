/// What a provider reports later of a message that it took.
public struct DeliveryReport: Sendable, Hashable {
  /// Which message of the verification, from 1.
  public var number: Int
  /// Whether it reached the handset.
  public var isDelivered: Bool
  /// The way it went, such as `twilio-eu`.
  public var lane: String?
  /// The provider's own ID of the message.
  public var reference: String?
  /// Why it was not delivered.
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
