import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

extension Bench {
  static let pushApp = "com.example.push"
  static let recaptchaApp = "com.example.recaptcha"
  static let auditApp = "com.example.audit"
  static let token = String(repeating: "0A", count: 32)

  /// Sends a command, forgets what was published before, and takes its reply, which is no error.
  func reply<C: Command>(
    to command: C, id: String? = nil, user: String? = nil, sentAt: UnixTime? = nil
  ) async throws -> C.Reply {
    let reply = try await ask(command, id: id, user: user, sentAt: sentAt)
    try #require(reply.type == C.Reply.type.text, "\(String(decoding: reply.body, as: UTF8.self))")
    return try C.Reply(json: reply.body)
  }

  /// Asks for a receipt, and takes the push that belongs to it.
  func receipt(app: String = pushApp, token: String = token) async throws -> (receipt: String, secret: String) {
    let receipt = try await reply(to: VerifyApp(app: app, deviceToken: token, environment: .sandbox)).receipt
    let push = try #require(try pushes().last)
    try #require(push.job.receipt == receipt)
    return (receipt, push.secret)
  }

  func pushes() throws -> [(id: String, job: PushVerifyJob, secret: String)] {
    try published(PushVerifyJob.self).map { id, job in
      let context = SealContext(messageType: PushVerifyJob.type, messageID: id, recipient: job.deviceToken)
      #expect(job.secret.isSealed)
      return (id, job, try job.secret.open(with: keys, for: context).reveal())
    }
  }

  func published<J: Job>(_ type: J.Type) throws -> [(id: String, job: J)] {
    try sink.published.filter { $0.message.type == J.type.text }.map { publication in
      (try #require(publication.message.messageID), try J(json: publication.message.body))
    }
  }

  func event<Body: Event>(_ type: Body.Type) throws -> Body? {
    try sink.published.last { $0.routingKey == Body.routingKey && $0.exchange == Topology.Exchanges.events }
      .map { try Body(json: $0.message.body) }
  }

  func startCommand(
    _ proof: StartVerification.Proof?, app: String = pushApp, number: String = number, ip: String? = "192.0.2.1"
  ) -> StartVerification {
    StartVerification(phoneNumber: number, app: app, proof: proof, client: ip.map { .init(ip: $0) })
  }

  static func pair(_ receipt: String, _ secret: String) -> StartVerification.Proof {
    StartVerification.Proof(receipt: receipt, secret: SecretField(Secret(secret)))
  }

  static func captcha(_ token: String) -> StartVerification.Proof {
    StartVerification.Proof(recaptchaToken: SecretField(Secret(token)))
  }

  func report<J: Job>(
    _ type: J.Type, _ jobID: String, _ outcome: JobOutcome, reason: String? = nil,
    extras: [String: JobResult.Value] = [:]
  ) throws -> Message {
    try result(
      of: type, jobID, outcome, reason: reason.map { .init(code: $0, detail: "because", providerCode: nil) },
      extras: extras)
  }

  func finish<J: Job>(
    _ type: J.Type, _ jobID: String, _ outcome: JobOutcome, reason: String? = nil,
    extras: [String: JobResult.Value] = [:]
  ) async throws {
    await deliverResults([try report(type, jobID, outcome, reason: reason, extras: extras)])
  }

  func delay(
    of job: MessageType, _ jobID: String, _ reason: String, attempts: Int = 1, next: Duration = .seconds(5),
    user: String? = nil, sender: String = Bench.author.userID
  ) -> Delivery {
    let type = JobDelayed.type(ofJob: job)
    let delayed = JobDelayed(
      jobID: jobID, reason: .init(code: reason, detail: "because", providerCode: "503"), attempts: attempts,
      nextAttemptAt: clock.now() + next)
    var envelope = Envelope(
      type: type, messageID: MessageID.make(), appID: "worker", userID: user ?? Topology.Users.worker(ofResults: type))
    envelope.statedSender = sender
    return Delivery(
      message: envelope.message(body: delayed.fastJSON), exchange: Topology.Exchanges.results,
      routingKey: JobDelayed.routingKey(queue: job.name))
  }

  func operation(_ id: String) async throws -> OperationStatus {
    try await reply(to: GetOperationStatus(operationID: id))
  }
}

extension CheckVerification {
  init(
    _ id: String, _ code: String, app: String? = nil, purpose: VerificationPurpose? = nil, subject: String? = nil
  ) {
    self.init(
      verificationID: id, code: SecretField(Secret(code)), app: app, purpose: purpose, subject: subject)
  }
}
