public import CountersignTelemetry

/// The message with the code reached the handset: the event `verification.delivered`.
public struct VerificationDelivered: Event, Hashable {
  public static let type = MessageType("verification.delivered")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var deliveredAt: UnixTime
  /// Which message of the verification it is, from 1.
  public var job: Int
  /// The lane that it took.
  public var lane: String?
  /// The provider's own ID of the message.
  public var reference: String?
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, deliveredAt: UnixTime, job: Int, lane: String? = nil,
    reference: String? = nil, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.deliveredAt = deliveredAt
    self.job = job
    self.lane = lane
    self.reference = reference
    self.purpose = purpose
  }
}
