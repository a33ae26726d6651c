/// Gives back the code: `verification.check`.
public struct CheckVerification: Command {
  public typealias Reply = VerificationApproved
  public static let type = MessageType("verification.check")

  public var verificationID: String
  /// What the user typed. Sealed, its recipient is the verification ID.
  public var code: SecretField

  public init(verificationID: String, code: SecretField) {
    self.verificationID = verificationID
    self.code = code
  }
}
