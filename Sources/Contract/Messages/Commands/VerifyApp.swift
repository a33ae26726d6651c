/// Asks for an app to be given proof of itself by push: `app.verify`.
///
/// The reply comes at once and has a receipt; the secret that belongs to it travels to the device by silent push. The app that
/// returns both with `verification.start` has shown that it is what it says, on the device that it says.
///
/// Every call gets a receipt of its own. A device token that Apple has refused lately gets an error instead, so that the app
/// need not wait for a push that will not come.
public struct VerifyApp: Command {
  public typealias Reply = AppVerifying
  public static let type = MessageType("app.verify")

  /// The app: its bundle ID.
  public var app: String
  /// The device token in hexadecimal, of either case.
  public var deviceToken: String
  /// Which push service the token belongs to; `unknown` if absent.
  public var environment: PushEnvironment?
  /// Who asks, for the limits per address.
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
