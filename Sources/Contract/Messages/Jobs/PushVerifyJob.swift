import CountersignEncoding
public import CountersignTelemetry

/// Job `push.verify`: sends the secret of a receipt to a device by silent push.
public struct PushVerifyJob: Job, Hashable {
  public static let type = MessageType("push.verify")

  /// Bundle ID of the app.
  public var app: String
  /// Device token in hexadecimal, in either case.
  public var deviceToken: String
  /// Push service of the token.
  public var environment: PushEnvironment
  /// Receipt that the app has already, by which it recognizes the push.
  public var receipt: String
  /// Secret that only the push carries. Sealed, its recipient is the device token in lower case.
  public var secret: SecretField
  /// Latest time to push it.
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

/// Apple's push service of a device token.
public enum PushEnvironment: String, ContractWord {
  /// Service of apps signed for development.
  case sandbox
  /// Service of App Store, TestFlight and ad-hoc builds.
  case production
  /// Not stated by the app: the worker finds out, and remembers it.
  case unknown
}

// MARK: - Reading without the decoder

extension PushVerifyJob {
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json) { Self($0) }
  }

  /// `nil`: the decoder has to name the problem.
  init?(_ json: PlainJSON) {
    guard let app = json.text("app"), let deviceToken = json.text("deviceToken"),
      let environment = json.text("environment").flatMap(PushEnvironment.init(rawValue:)),
      let receipt = json.text("receipt"), let secret = json.text("secret"),
      let deadline = json.text("deadline").flatMap(UnixTime.init(rfc3339:))
    else { return nil }
    self.init(
      app: app, deviceToken: deviceToken, environment: environment, receipt: receipt,
      secret: SecretField(text: secret), deadline: deadline)
  }
}
