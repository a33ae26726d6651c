public import CountersignTelemetry

/// No message could be sent, or the code was guessed at too often: the event `verification.failed`.
public struct VerificationFailed: Event, Hashable {
  public static let type = MessageType("verification.failed")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var failedAt: UnixTime
  /// Why.
  public var failure: VerificationStatus.Failure
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, failedAt: UnixTime, failure: VerificationStatus.Failure,
    purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.failedAt = failedAt
    self.failure = failure
    self.purpose = purpose
  }
}
