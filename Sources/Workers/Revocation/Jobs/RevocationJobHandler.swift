import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Carries out `apple.revoke` jobs: a code is exchanged for a token, a token is revoked.
///
/// The token that a code yields exists once, and the code does not work again. So it becomes the next stage of the job before anything else
/// happens: the same job with the token in the place of the code, sealed, in the ledger and on the broker.
public struct RevocationJobHandler: JobHandler {
  public typealias Body = AppleRevokeJob
  public typealias Job = RevocationJob

  /// The lanes of an app: by client ID.
  private let clients: [Client: String]
  private let lanes: [String: AppleLane]
  private let sealer: Sealer
  private let keys: KeyRing
  /// How long an exchanged token is revoked, from its exchange, when the job's own deadline is earlier.
  private let persistence: Duration

  /// Who a token was given to, and in which app.
  struct Client: Sendable, Hashable {
    let app: String
    let clientID: String
  }

  init(lanes: [AppleLane], clients: [Client: String], keys: KeyRing, persistence: Duration) {
    self.lanes = Dictionary(lanes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.clients = clients
    self.keys = keys
    sealer = Sealer(keys: keys)
    self.persistence = persistence
  }

  /// The ID of a job's next stage.
  static func nextID(of jobID: String) -> String { jobID + ".revoke" }

  /// Only who has a key could seal a token to the ID of the stage.
  public func jobID(of body: AppleRevokeJob, _ message: JobMessage) -> String {
    guard let job = message.stageOf, message.messageID == Self.nextID(of: job), body.token.secret.isSealed,
      body.token.kind != .authorizationCode
    else { return message.messageID }
    return job
  }

  public func prepare(_ body: AppleRevokeJob, of message: JobMessage) -> Preparation<RevocationJob> {
    let kind = jobID(of: body, message) == message.messageID ? body.token.kind : .authorizationCode
    let stage: RevocationStage = body.token.kind == .authorizationCode ? .exchange : .revoke
    let extras: ResultExtras = ["tokenKind": .string(kind.rawValue), RevocationStage.key: stage.value]
    let client = Client(app: body.app, clientID: body.clientID ?? body.app)
    guard let lane = clients[client] else { return .refused(.unknownClient, extras: extras) }
    let secret: Secret
    switch open(body, messageID: message.messageID) {
    case .success(let opened): secret = opened
    case .failure(let problem): return .invalid(problem)
    }
    let job = RevocationJob(
      app: body.app, clientID: body.clientID, deadline: body.deadline, step: step(body, secret))
    return .ready(
      PreparedJob(
        job, lanes: [lane], deadline: body.deadline, onUnknown: .resend, extras: extras,
        // A revocation is harmless however often it is done. A code is tried again because it may not have been used.
        maximumUnknownResends: stage == .revoke ? .max : nil,
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
    switch job.step {
    case .exchange(let code, let redirectURI): return await exchange(code, redirectURI, job, lane, attempt)
    case .revoke(let token, let hint):
      switch await lane.revoke(token, hint: hint, timeout: attempt.timeout) {
      case .failed(let classification): return classification
      case .answer(let answer) where answer.isSuccess:
        return .accepted(reference: nil, extras: [RevocationStage.key: RevocationStage.revoked.value])
      case .answer(let answer): return answer.classification(lane.table)
      }
    }
  }

  public func probe(lane: String) async -> ProbeResult { await lanes[lane]?.probe() ?? .cannotTell }
}

// MARK: - The exchange

extension RevocationJobHandler {
  private func exchange(
    _ code: Secret, _ redirectURI: String?, _ job: RevocationJob, _ lane: AppleLane, _ attempt: JobAttempt
  ) async -> Classification {
    switch await lane.exchange(code, redirectURI: redirectURI, timeout: attempt.timeout) {
    case .failed(let classification): return classification
    case .answer(let answer) where answer.isSuccess: return goOn(answer, job, attempt)
    case .answer(let answer):
      if answer.error == AppleError.invalidClient, redirectURI != nil, await lane.probe() == .up {
        return .refused(.redirectMismatch)
      }
      let classification = answer.classification(lane.table)
      // An earlier call may have used the code up: that Apple refuses it now says nothing of what became of its token.
      if case .refused = classification, attempt.unknownCalls > 0 {
        return .lost(.lost.with(providerCode: answer.error))
      }
      return classification
    }
  }

  private func goOn(_ answer: AppleAnswer, _ job: RevocationJob, _ attempt: JobAttempt) -> Classification {
    let id = Self.nextID(of: attempt.jobID)
    let deadline = max(job.deadline, attempt.startedAt + persistence)
    do {
      let token: AppleToken
      switch answer.yield {
      case .refreshToken(let secret): token = .refreshToken(try seal(secret, id, job))
      case .accessToken(let secret): token = .accessToken(try seal(secret, id, job))
      case nil: return .lost(.lost)
      }
      let next = AppleRevokeJob(app: job.app, clientID: job.clientID, token: token, deadline: deadline)
      return .continued(as: NextStage(messageID: id, body: try next.json()))
    } catch {
      // Larger than a message, or the keys cannot seal: there is no safe place for it.
      return .lost(.lost)
    }
  }

  private func seal(_ token: Secret, _ id: String, _ job: RevocationJob) throws -> SecretField {
    try sealer.seal(token, for: SealContext(messageType: AppleRevokeJob.type, messageID: id, recipient: job.app))
  }
}

// MARK: - What the message holds

extension RevocationJobHandler {
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
    JobResult.messageID(jobID: nextID(of: messageID)).utf8.count > MessageLimits.maxShortStringBytes
  }
}
