import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The coordinator's answer to the start of a revocation, or to a look at its operation.
struct RevocationReply: Report {
  private let id: RecordID
  private let content: OperationReply
  private let flow: RevocationFlow

  static func kind(_ type: MessageType, _ flow: RevocationFlow) -> ReportKind {
    AwaitedReply.kind(type) { received throws(ContractProblem) in try RevocationReply(received, flow) }
  }

  private init?(_ received: ReceivedReport, _ flow: RevocationFlow) throws(ContractProblem) {
    guard let id = received.waiting(AppleRevocation.kind) else { return nil }
    try received.requireCoordinator()
    (self.id, self.flow, content) = (id, flow, try OperationReply(received))
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { keys.add(record: id) }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard var revocation = try AppleRevocation.find(id, in: set) else { return }
    switch content {
    case .started(let operation):
      revocation.operationID = operation.id
      if let subject = revocation.subject {
        try SubjectRevocations.note(operation, of: subject, project: revocation.project, in: &set)
      }
      try flow.look(at: &revocation, in: &set)
    case .state(let status):
      guard status.operationID == revocation.operationID, status.kind == .appleRevocation else { return }
      try end(&revocation, with: status, in: &set)
    // Nobody waits for the answer to a later look, which may find the coordinator busy: it is made again.
    case .refused(let error) where revocation.waiting.isEmpty && error.isRetriable: break
    case .refused(let error): try revocation.answer(CommandAnswer(APIError(refusalOfRevocation: error)), in: &set)
    }
    try revocation.store(in: &set)
  }

  private func end(
    _ revocation: inout AppleRevocation, with status: OperationStatus, in set: inout WorkingSet
  ) throws(StoreError) {
    switch status.state {
    case .completed: try succeed(&revocation, with: status, in: &set)
    case .failed: try revocation.answer(CommandAnswer(APIError(failureOfRevocation: status)), in: &set)
    // It is looked at again when the record is due.
    default: break
    }
  }

  private func succeed(
    _ revocation: inout AppleRevocation, with status: OperationStatus, in set: inout WorkingSet
  ) throws(StoreError) {
    var keys = StoreKeys()
    for command in revocation.waiting { SessionRecord.addKeys(of: command.session, to: &keys) }
    for command in revocation.waiting { keys.add(message: try InboxKey(command.envelope.identity.key)) }
    let used = revocation.waiting.first.flatMap { UsedCredential(revocation: status.operationID, for: $0.session) }
    if let used { keys.add(record: used.id) }
    try set.require(keys)
    guard let id = RecordID(AccountRecord.kind, revocation.account),
      var account = try AccountRecord.find(id, project: revocation.project, in: set)
    else { return try revocation.answer(CommandAnswer(.userNotFound), in: &set) }
    // Apple accepts any other token, also a made-up one.
    if let subject = revocation.subject, let identity = account.identity(at: AppleRevocation.provider),
      identity.subject == subject
    {
      let revokedAt = min(Self.revokedAt(status), set.now)
      account.appleRevokedAt = max(account.appleRevokedAt ?? revokedAt, revokedAt)
      try account.store(in: &set)
      if let used, identity.trustedFrom.map({ $0 <= set.now }) ?? true {
        try allowDeletion(by: used, until: revokedAt + AppleRevocation.allowance, in: &set)
      }
    }
    let reply = TokenRevoked(localID: account.localID, operationID: status.operationID)
    try revocation.answer(CommandAnswer(reply), in: &set)
  }

  /// The first session that asked may delete the account. Whoever brings the code later may have found it.
  private func allowDeletion(
    by used: UsedCredential, until end: UnixTime, in set: inout WorkingSet
  ) throws(StoreError) {
    guard set.now < end, let first = used.session, try !used.isUsedUp(in: set) else { return }
    try used.store(until: end, in: &set)
    guard var session = try SessionRecord.find(first, in: set) else { return }
    session.deletionUntil = end
    try session.store(flow.parts.rules.sessions, in: &set)
  }

  /// Time at which Apple had the code. The coordinator answers for the same code with the same operation for long.
  private static func revokedAt(_ status: OperationStatus) -> UnixTime {
    status.timeline.first { $0.event == accepted }?.at ?? status.startedAt
  }

  /// The coordinator's entry.
  private static let accepted = "revoke.accepted"
}

extension APIError {
  static let noRevocation = APIError(
    .invalidProviderID, "tokens of apple.com alone are revoked", field: "providerID")
  static let missingApp = APIError(
    .invalidArgument, "the app that Apple gave the token to is missing, and the project has several", field: "app")
  static let malformedToken = APIError(.invalidArgument, "the token is empty, or too long to be one", field: "token")
  static let malformedRedirectURI = APIError(
    .invalidArgument, "the redirect URI is too long to be one", field: "redirectURI")
  static let noAppleIdentity = APIError(
    .invalidIDPResponse, "the account has no identity of Sign in with Apple", field: "idToken",
    reason: "NOT_LINKED")
  static let revocationUndecided = APIError(
    .internalError,
    "it is not decided yet whether the token is revoked: send the same again, which asks for the same revocation; if it stays so, see whether a revocation-worker runs",
    field: "token", retryAfter: 5, reason: "REVOCATION_UNDECIDED")

  /// The coordinator's refusal to start.
  fileprivate init(refusalOfRevocation error: APIError) {
    self = error
    guard error.retryAfter == nil else { return }
    // The input of users never breaks the contract, so keys or configurations of the two services differ.
    self = APIError(
      .operationNotAllowed,
      "the coordinator does not revoke the token (\(error.message)): compare keys and configurations", field: "token",
      reason: error.reason ?? error.code.rawValue)
  }

  /// The end of an operation without a revocation. What the configuration lacks is named by the worker.
  fileprivate init(failureOfRevocation status: OperationStatus) {
    let reason = status.failure?.code ?? status.ending?.rawValue ?? "UNKNOWN"
    let code: APIErrorCode = reason == Self.unknownClient ? .operationNotAllowed : .invalidIDPResponse
    self.init(
      code, "the token is not revoked: \(status.failure?.detail ?? reason)", field: "token", reason: reason)
  }

  /// Reason of the worker, which has no team, key ID and key for the app.
  private static let unknownClient = "UNKNOWN_CLIENT"
}
