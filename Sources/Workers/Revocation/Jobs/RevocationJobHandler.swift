import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Carries out `apple.revoke` jobs: a code is exchanged for a token, a token is revoked.
///
/// A code works once, so its token becomes the next stage of the job before anything else happens: the same job with
/// the sealed token in the place of the code, in the ledger and on the broker.
public struct RevocationJobHandler: JobHandler {
  public typealias Body = AppleRevokeJob
  public typealias Job = RevocationJob

  private let clients: [RevocationClient: String]
  private let lanes: [String: AppleLane]
  private let sealer: Sealer
  private let keys: KeyRing
  /// Time from the exchange for which a token is revoked, if the job's own deadline is earlier.
  private let persistence: Duration

  init(lanes: [AppleLane], clients: [RevocationClient: String], keys: KeyRing, persistence: Duration) {
    self.lanes = Dictionary(lanes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.clients = clients
    self.keys = keys
    sealer = Sealer(keys: keys)
    self.persistence = persistence
  }

  /// The ID of the first stage, for a further one: only a holder of a key can seal a token to the ID of a stage.
  public func jobID(of body: AppleRevokeJob, _ message: JobMessage) -> String {
    guard let job = message.stageOf, message.messageID == NextStageWriter.id(of: job), body.token.secret.isSealed,
      body.token.kind != .authorizationCode
    else { return message.messageID }
    return job
  }

  public func prepare(_ body: AppleRevokeJob, of message: JobMessage) -> Preparation<RevocationJob> {
    let isFirst = jobID(of: body, message) == message.messageID
    let kind = isFirst ? body.token.kind : .authorizationCode
    let stage: RevocationStage = body.token.kind == .authorizationCode ? .exchange : .revoke
    if let problem = Self.problem(with: body.subject, of: kind) { return .invalid(problem) }
    var extras: ResultExtras = ["tokenKind": .string(kind.rawValue), RevocationStage.key: stage.value]
    if !isFirst { extras[RevocationStage.subject] = body.subject.map { .string($0) } }
    let client = RevocationClient(app: body.app, clientID: body.clientID ?? body.app)
    guard let lane = clients[client] else { return .refused(.unknownClient, extras: extras) }
    let secret: Secret
    switch open(body, messageID: message.messageID) {
    case .success(let opened): secret = opened
    case .failure(let problem): return .invalid(problem)
    }
    let job = RevocationJob(
      app: body.app, clientID: body.clientID, deadline: body.deadline, step: step(body, secret), subject: body.subject)
    return .ready(
      job,
      JobFacts(
        lanes: [lane], deadline: body.deadline,
        // A revocation is harmless however often it is repeated. A code is tried again because it may not have been
        // used.
        onUnknown: stage == .revoke ? .resendUntilDeadline : .resend, extras: extras,
        unknownReason: stage == .revoke ? .notConfirmed : .lost))
  }

  private func step(_ body: AppleRevokeJob, _ secret: Secret) -> RevocationJob.Step {
    switch body.token {
    case .authorizationCode: .exchange(code: secret, redirectURI: body.redirectURI)
    case .refreshToken: .revoke(token: secret, hint: "refresh_token")
    case .accessToken: .revoke(token: secret, hint: "access_token")
    }
  }

  public func perform(_ job: RevocationJob, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes[lane] else { return .retry(.unknownClient) }
    let nextStage = NextStageWriter(
      job: job, jobID: attempt.jobID, deadline: max(job.deadline, attempt.startedAt + persistence), sealer: sealer)
    return await lane.send(
      RevocationCall(step: job.step, unknownCalls: attempt.unknownCalls, nextStage: nextStage), attempt)
  }

  public func probe(lane: String) async -> ProbeResult { await lanes[lane]?.probe() ?? .cannotTell }
}

// MARK: - Content of the message

extension RevocationJobHandler {
  /// The subject of a token is not to be had from Apple: one that cannot be compared must not seem to have been.
  private static func problem(
    with subject: String?, of kind: AppleToken.Kind
  ) -> ContractProblem? {
    guard let subject else { return nil }
    guard kind == .authorizationCode else {
      return ContractProblem(.invalidField, field: "subject", "is compared for an authorizationCode only")
    }
    guard (1...AppleRevokeJob.maxSubjectBytes).contains(subject.utf8.count) else {
      return ContractProblem(
        .invalidField, field: "subject", "must have 1 to \(AppleRevokeJob.maxSubjectBytes) bytes")
    }
    return nil
  }

  private func open(_ body: AppleRevokeJob, messageID: String) -> Result<Secret, ContractProblem> {
    let field = body.token.kind.rawValue
    if body.token.kind == .authorizationCode, Self.isTooLong(messageID) {
      return .failure(ContractProblem(.invalidField, field: "message_id", "is too long for the ID of a further stage"))
    }
    let context = SealContext(messageType: AppleRevokeJob.type, messageID: messageID, recipient: body.app)
    do throws(ContractProblem) {
      let secret = try body.token.secret.open(with: keys, for: context, field: field)
      return secret.isEmpty ? .failure(ContractProblem(.invalidField, field: field, "is empty")) : .success(secret)
    } catch {
      return .failure(error)
    }
  }

  private static func isTooLong(_ messageID: String) -> Bool {
    JobResult.messageID(jobID: NextStageWriter.id(of: messageID)).utf8.count > MessageLimits.maxShortStringBytes
  }
}
