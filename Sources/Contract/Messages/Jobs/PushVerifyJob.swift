public import CountersignTelemetry

/// Asks for the secret of a receipt to be pushed to a device, silently: `push.verify`.
public struct PushVerifyJob: Job, Hashable {
  public static let type = MessageType("push.verify")

  /// The app's bundle ID.
  public var app: String
  /// The device token in hexadecimal, of either case.
  public var deviceToken: String
  /// Which push service the token belongs to.
  public var environment: PushEnvironment
  /// What the app has been given already, and matches the push by.
  public var receipt: String
  /// What only the push tells. Sealed, its recipient is the device token in lower case.
  public var secret: SecretField
  /// It is not pushed after this time.
  public var deadline: UnixTime

  public init(
    app: String, deviceToken: String, environment: PushEnvironment, receipt: String, secret: SecretField,
    deadline: UnixTime
  ) {
    self.app = app
    self.deviceToken = deviceToken
    self.environment = environment
    self.receipt = receipt
    self.secret = secret
    self.deadline = deadline
  }
}
