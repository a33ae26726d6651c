import CountersignTelemetry

extension PushVerifyJob {
  public init(json: [UInt8]) throws(ContractProblem) {
    if let plain = PlainJSON(json), let job = Self(plain) {
      self = job
    } else {
      self = try ContractJSON.decode(Self.self, from: json)
    }
  }

  /// Nil: anything is not as it should be, which the decoder will say, or is beyond what is read here.
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
