/// Asks where a verification stands and what has happened: `verification.status`.
public struct GetVerificationStatus: Command {
  public typealias Reply = VerificationStatus
  public static let type = MessageType("verification.status")

  public var verificationID: String

  public init(verificationID: String) {
    self.verificationID = verificationID
  }
}
