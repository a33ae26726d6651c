public import CountersignTelemetry

/// The message with the code will not reach the handset: the event `verification.undelivered`.
///
/// The verification goes on: the code may be sent again, and providers err.
public struct VerificationUndelivered: Event, Hashable {
  public static let type = MessageType("verification.undelivered")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var undeliveredAt: UnixTime
  /// Which message of the verification it is, from 1.
  public var job: Int
  /// The lane that it took.
  public var lane: String?
  /// The provider's own ID of the message.
  public var reference: String?
  /// Why, if the provider says it.
  public var reason: VerificationStatus.Failure?
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, undeliveredAt: UnixTime, job: Int, lane: String? = nil,
    reference: String? = nil, reason: VerificationStatus.Failure? = nil, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.undeliveredAt = undeliveredAt
    self.job = job
    self.lane = lane
    self.reference = reference
    self.reason = reason
    self.purpose = purpose
  }
}
