/// Ends a verification: `verification.cancel`. Its code is not accepted any more.
public struct CancelVerification: Command {
  public typealias Reply = VerificationCanceled
  public static let type = MessageType("verification.cancel")

  public var verificationID: String

  public init(verificationID: String) {
    self.verificationID = verificationID
  }
}
