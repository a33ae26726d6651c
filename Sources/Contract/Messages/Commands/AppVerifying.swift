/// The push is on its way: the reply to `app.verify`.
public struct AppVerifying: MessageBody, Hashable {
  public static let type = MessageType("app.verifying")

  /// What the app matches the push by and returns with its secret. It is also the ID under which `operation.status` tells what
  /// became of the push.
  public var receipt: String
  /// After how many seconds without a push the app had better fall back to reCAPTCHA.
  public var suggestedTimeout: Int

  public init(receipt: String, suggestedTimeout: Int) {
    self.receipt = receipt
    self.suggestedTimeout = suggestedTimeout
  }
}
