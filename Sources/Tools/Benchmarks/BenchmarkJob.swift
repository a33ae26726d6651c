import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// The kinds of jobs that a queue is filled with.
public enum BenchmarkJob: String, CaseIterable, Sendable {
  /// A message with a code, for a number of its own.
  case sms = "sms.dispatch"
  /// A push of a secret, to a device of its own.
  case push = "push.verify"
  /// The revocation of an authorization code: an exchange, a further stage, a revocation.
  case revocation = "apple.revoke"
  /// A mail with a code, by a template, text and HTML.
  case mail = "mail.relay"

  /// What a batch of jobs has in common.
  struct Run: Sendable {
    let id = MessageID.make()
    let deadline: UnixTime
    /// With them secrets are sealed, as the coordinator seals them.
    let sealer: Sealer?
  }

  private var type: MessageType {
    switch self {
    case .sms: SMSDispatchJob.type
    case .push: PushVerifyJob.type
    case .revocation: AppleRevokeJob.type
    case .mail: MailRelayJob.type
    }
  }

  /// One job of a run.
  /// - Parameter index: its number, from 0.
  func publication(_ index: Int, of run: Run) throws -> Publication {
    let envelope = Envelope(
      type: type, messageID: "bench-\(run.id)-\(index)", correlationID: "bench-\(run.id)",
      timestamp: SystemClock().now(), appID: "bench")
    return Publication(
      message: envelope.message(body: try body(index, envelope.messageID, run)), exchange: Topology.Exchanges.jobs,
      routingKey: type.name)
  }

  private func body(_ index: Int, _ messageID: String, _ run: Run) throws -> [UInt8] {
    switch self {
    case .sms:
      let number = BenchmarkNumbers.number(at: index)
      let code = try secret("123456", for: number, messageID, run)
      let variables = SMSDispatchJob.Variables(code: code, appName: "Bench", domain: "example.com")
      return try SMSDispatchJob(
        to: number, content: .template(name: "verification", languageCode: "en", variables: variables),
        deadline: run.deadline
      ).json()
    case .push:
      let device = Hexadecimal.text(UInt64(index), width: Self.deviceDigits)
      return try PushVerifyJob(
        app: Self.app, deviceToken: device, environment: .production, receipt: messageID,
        secret: secret(String(repeating: "s", count: Self.secretLength), for: device, messageID, run),
        deadline: run.deadline
      ).json()
    case .revocation:
      let code = try secret("c\(run.id).0.\(index)", for: Self.app, messageID, run)
      return try AppleRevokeJob(app: Self.app, token: .authorizationCode(code), deadline: run.deadline).json()
    case .mail:
      let address = "bench-\(index)@privaterelay.appleid.com"
      let code = try secret("123456", for: address, messageID, run)
      let variables = MailRelayJob.Variables(code: code, appName: "Bench")
      return try MailRelayJob(
        to: address, content: .template(name: "address-verification", languageCode: "en", variables: variables),
        deadline: run.deadline
      ).json()
    }
  }

  private func secret(_ text: String, for recipient: String, _ messageID: String, _ run: Run) throws -> SecretField {
    guard let sealer = run.sealer else { return SecretField(Secret(text)) }
    return try sealer.seal(
      Secret(text), for: SealContext(messageType: type, messageID: messageID, recipient: recipient))
  }

  private static let app = "com.example.app"
  private static let deviceDigits = 64
  private static let secretLength = 43
}
