public import Telemetry

/// The number is proven: the reply to `verification.check` and the event `verification.approved`.
public struct VerificationApproved: Event, Hashable {
  public static let type = MessageType("verification.approved")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var approvedAt: UnixTime

  public init(verificationID: String, app: String, phoneNumber: String, approvedAt: UnixTime) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.approvedAt = approvedAt
  }
}
