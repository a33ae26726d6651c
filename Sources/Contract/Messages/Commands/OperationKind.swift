/// What an operation does. More words may come.
public struct OperationKind: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Proves an app by push.
  public static let appVerification = OperationKind(rawValue: "app.verify")
  /// Revokes a token of Sign in with Apple, and tells its owner.
  public static let appleRevocation = OperationKind(rawValue: "apple.revoke")

  public static let known: [OperationKind] = [.appVerification, .appleRevocation]
}
