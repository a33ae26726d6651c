/// Command `app.verify`: requests proof of an app by push.
///
/// The reply has a receipt. Its secret travels to the device by silent push. An app that returns both with
/// `verification.start` has proven its identity and its device.
///
/// Every call yields a new receipt. A device token that Apple refused recently yields an error instead of a push that
/// cannot arrive.
public struct VerifyApp: Command {
  public typealias Reply = AppVerifying
  public static let type = MessageType("app.verify")

  /// Bundle ID of the app.
  public var app: String
  /// Device token in hexadecimal, in either case.
  public var deviceToken: String
  /// Push service of the token. `unknown` if absent.
  public var environment: PushEnvironment?
  /// Client that asks, for the limits per address.
  public var client: StartVerification.Client?

  public init(
    app: String, deviceToken: String, environment: PushEnvironment? = nil, client: StartVerification.Client? = nil
  ) {
    self.app = app
    self.deviceToken = deviceToken
    self.environment = environment
    self.client = client
  }
}

/// Reply to `app.verify`: the push is on its way.
public struct AppVerifying: MessageBody, Hashable {
  public static let type = MessageType("app.verifying")

  /// ID by which the app recognizes the push and which it returns with the secret. `operation.status` takes it as the
  /// ID of the push.
  public var receipt: String
  /// Seconds without a push after which the app should fall back to reCAPTCHA.
  public var suggestedTimeout: Int

  public init(receipt: String, suggestedTimeout: Int) {
    self.receipt = receipt
    self.suggestedTimeout = suggestedTimeout
  }
}
