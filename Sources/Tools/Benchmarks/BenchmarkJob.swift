import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Kinds of jobs to fill a queue with.
package enum BenchmarkJob: String, CaseIterable, Sendable {
  /// An SMS with a code. Each has its own number.
  case sms = "sms.dispatch"
  /// A push of a secret. Each has its own device.
  case push = "push.verify"
  /// The revocation of an authorization code: an exchange, a further stage, a revocation.
  case revocation = "apple.revoke"
  /// A mail with a code, by a template, text and HTML.
  case mail = "mail.relay"

  struct Run: Sendable {
    let id = MessageID.make()
    let deadline: UnixTime
    /// `nil` leaves them unsealed.
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

/// Phone numbers for load tests: distinct, valid, mobile by the numbering plan, and spread over many prefixes, so that
/// no limit of a prefix ends the run.
///
/// They are numbers of the United States outside the exchange 555. They only ever reach a provider on the loopback
/// interface.
struct BenchmarkNumbers: Sendable {
  private static let areaCodes = [201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218]
  /// Excludes those that end in 11, which are services, and 555, which is fictional.
  private static let exchanges = (220...919).filter { $0 % 100 != 11 && $0 != 555 }
  private static let linesPerExchange = 10_000

  static let count = areaCodes.count * exchanges.count * linesPerExchange

  /// Neighbors have different prefixes.
  static func number(at index: Int) -> String {
    let areaCode = areaCodes[index % areaCodes.count]
    let exchange = exchanges[index / areaCodes.count % exchanges.count]
    let line = index / areaCodes.count / exchanges.count % linesPerExchange
    return "+1\(areaCode)\(exchange)\(String(linesPerExchange + line).dropFirst())"
  }
}
