public import CountersignTelemetry

/// The caller ended it: the reply to `verification.cancel` and the event `verification.canceled`.
public struct VerificationCanceled: Event, Hashable {
  public static let type = MessageType("verification.canceled")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var canceledAt: UnixTime
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, canceledAt: UnixTime, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.canceledAt = canceledAt
    self.purpose = purpose
  }
}
