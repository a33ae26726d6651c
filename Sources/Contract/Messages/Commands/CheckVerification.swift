/// Gives back the code: `verification.check`.
public struct CheckVerification: Command {
  public typealias Reply = VerificationApproved
  public static let type = MessageType("verification.check")

  public var verificationID: String
  /// What the user typed. Sealed, its recipient is the verification ID.
  public var code: SecretField
  /// Claim about the verification: one of another app, purpose or subject is refused before anything is counted. Absent, it is not
  /// compared.
  public var app: String?
  public var purpose: VerificationPurpose?
  public var subject: String?
  /// Client, for the limits per address.
  public var client: StartVerification.Client?

  public init(
    verificationID: String, code: SecretField, app: String? = nil, purpose: VerificationPurpose? = nil,
    subject: String? = nil, client: StartVerification.Client? = nil
  ) {
    self.verificationID = verificationID
    self.code = code
    self.app = app
    self.purpose = purpose
    self.subject = subject
    self.client = client
  }
}
