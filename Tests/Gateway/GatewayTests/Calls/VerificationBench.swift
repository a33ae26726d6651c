import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Testing

@testable import Gateway

/// A gateway with the calls of servers about verifications, asked over HTTP.
struct VerificationBench {
  static let path = "/v1/projects/example/verifications"
  static let one = path + "/v-1"
  static let bearer = (name: "Authorization", value: "Bearer ya29.token")
  static let now = UnixTime(seconds: 1_782_907_200)

  let gateway: GatewayBench
  let broker: FakeBroker

  /// - Parameter script: reply to the command of a type. Without it, the one of the type.
  init(_ script: @escaping FakeBroker.Script = { type, message in try reply(to: type, message) }) throws {
    broker = FakeBroker(script)
    gateway = try GatewayBench(broker) { rules, connection in
      VerificationCalls(backend: Backend(rules: rules, broker: connection, misconfigurations: .quiet)).routes
    }
  }

  /// A gateway whose services refuse every command.
  init(refusing error: APIError) throws {
    try self.init { _, message in try FakeBroker.refusal(error, to: message) }
  }

  func send(
    _ method: String, _ path: String, _ json: String? = nil, headers: [(name: String, value: String)] = [bearer]
  ) async throws -> BenchAnswer {
    try await gateway.send(method, path, headers: headers, body: json.map { Array($0.utf8) })
  }

  func start(_ json: String, key: String? = nil) async throws -> BenchAnswer {
    try await send("POST", Self.path, json, headers: Self.headers(key: key))
  }

  static func headers(key: String?) -> [(name: String, value: String)] {
    [bearer] + (key.map { [(name: "Idempotency-Key", value: $0)] } ?? [])
  }

  /// Opens a secret of a command as accounts does.
  func open<C: Command>(_ field: SecretField, of type: C.Type) throws -> String {
    let message = try #require(broker.commands.first { $0.type == C.type.text })
    let context = AccountCommandFields.context(of: C.type, messageID: message.messageID ?? "", replyKey: nil)
    return try field.open(with: gateway.accountsKey, for: context).reveal()
  }

  static func reply(to type: String, _ message: Message) throws -> Message {
    switch type {
    case StartServiceVerification.routingKey: try FakeBroker.reply(started, to: message)
    case CheckServiceVerification.routingKey: try FakeBroker.reply(approved, to: message)
    case GetServiceVerification.routingKey: try FakeBroker.reply(status, to: message)
    default: try FakeBroker.reply(canceled, to: message)
    }
  }

  // MARK: Replies with all fields that accounts may send

  static var started: VerificationStarted {
    var reply = VerificationStarted(
      verificationID: "v-1", app: "com.example.app", phoneNumber: "+14155550123", codeLength: 6, expiresAt: now,
      resendAfter: 30, resent: false, testNumber: false)
    reply.purpose = .verification
    return reply
  }

  static let approved = VerificationApproved(
    verificationID: "v-1", app: "com.example.app", phoneNumber: "+14155550123", approvedAt: now,
    purpose: .verification)

  static let canceled = VerificationCanceled(
    verificationID: "v-1", app: "com.example.app", phoneNumber: "+14155550123", canceledAt: now,
    purpose: .verification)

  static var status: VerificationStatus {
    var entry = VerificationStatus.Entry(
      at: now, event: "sms.delayed", job: 1, lane: "l", reference: "r", reason: "R", detail: "d")
    (entry.worker, entry.attempts, entry.nextAttemptAt, entry.segments) = ("w", 2, now, 1)
    return VerificationStatus(
      verificationID: "v-1", app: "com.example.app", phoneNumber: "+14155550123", state: .failed, expiresAt: now,
      failure: VerificationStatus.Failure(code: "C", detail: "d"), timeline: [entry], purpose: .verification)
  }
}

extension BenchAnswer {
  /// Whether it is a problem (RFC 9457) with the code.
  func isProblem(_ status: Int, _ code: String, field: String? = nil) -> Bool {
    self.status == status && headers["Content-Type"] == "application/problem+json" && self["type"] == "about:blank"
      && self["status"]?.wholeNumber == status && self["title"]?.text?.isEmpty == false
      && self["detail"]?.text?.isEmpty == false && self["code"]?.text == code && self["field"]?.text == field
      && self["retryAfter"]?.wholeNumber.map(String.init) == headers["Retry-After"]
  }
}
