public import CountersignTelemetry

/// Command `verification.cancel`: cancels a verification. Its code is no longer accepted.
public struct CancelVerification: Command {
  public typealias Reply = VerificationCanceled
  public static let type = MessageType("verification.cancel")

  public var verificationID: String
  /// Expected app of the verification. One of another app, purpose or subject is refused. Absent, it is not compared.
  public var app: String?
  public var purpose: VerificationPurpose?
  public var subject: String?

  public init(
    verificationID: String, app: String? = nil, purpose: VerificationPurpose? = nil, subject: String? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.purpose = purpose
    self.subject = subject
  }
}

/// Reply to `verification.cancel` and event `verification.canceled`: the caller canceled the verification.
public struct VerificationCanceled: Event, Hashable {
  public static let type = MessageType("verification.canceled")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var canceledAt: UnixTime
  /// Absent if it is ``VerificationPurpose/signIn``.
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
