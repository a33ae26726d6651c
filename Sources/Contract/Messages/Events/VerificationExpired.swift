public import CountersignTelemetry

/// The time ran out: the event `verification.expired`.
public struct VerificationExpired: Event, Hashable {
  public static let type = MessageType("verification.expired")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var expiredAt: UnixTime
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, expiredAt: UnixTime, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.expiredAt = expiredAt
    self.purpose = purpose
  }
}
