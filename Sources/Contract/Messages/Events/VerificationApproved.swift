public import CountersignTelemetry

/// The number is proven: the reply to `verification.check` and the event `verification.approved`.
///
/// A service that acts on it compares all of it with what was asked for: another service may have started it, for another app or subject.
public struct VerificationApproved: Event, Hashable {
  public static let type = MessageType("verification.approved")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var approvedAt: UnixTime
  public var purpose: VerificationPurpose
  /// For whom, where the purpose has it.
  public var subject: String?
  /// Whether it is one of the app's fictional numbers, whose fixed code proves nothing.
  public var testNumber: Bool

  public init(
    verificationID: String, app: String, phoneNumber: String, approvedAt: UnixTime,
    purpose: VerificationPurpose = .signIn, subject: String? = nil, testNumber: Bool = false
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.approvedAt = approvedAt
    self.purpose = purpose
    self.subject = subject
    self.testNumber = testNumber
  }
}

extension VerificationApproved {
  /// The body in JSON, written without the encoder; see ``JSONObjectWriter``.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("approvedAt", approvedAt)
    text.put("purpose", purpose.rawValue)
    text.put("subject", subject)
    text.put("testNumber", testNumber)
    return text.finished()
  }
}
