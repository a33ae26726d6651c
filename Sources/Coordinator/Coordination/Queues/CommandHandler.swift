import CountersignMessages
import CountersignTelemetry
import SQLite

/// Executes commands inside a transaction.
struct CommandHandler: Sendable {
  private let rules: CoordinatorRules
  private let codes: VerificationCodes
  private let verifications: VerificationService
  private let appProofs: AppProofService
  private let revocations: RevocationService
  private let conversions: ConversionCommands
  private let eraser: NumberEraser

  init(
    _ rules: CoordinatorRules, codes: VerificationCodes, verifications: VerificationService, appProofs: AppProofService,
    revocations: RevocationService, eraser: NumberEraser
  ) {
    self.rules = rules
    self.codes = codes
    self.verifications = verifications
    self.appProofs = appProofs
    self.revocations = revocations
    self.eraser = eraser
    conversions = ConversionCommands(rules)
  }

  /// Executes a command, or returns the recorded answer of an earlier execution.
  /// - Returns: `nil` when the command waits: it is answered later.
  func handle(
    _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    switch request.order {
    // A look changes nothing, so it is neither recorded nor answered from a record.
    case .look(let look): try answer(look, in: transaction)
    case .change(let change):
      switch try known(request, in: transaction) {
      case .replied(let answer): answer
      case .waiting: nil
      case nil: try carryOut(change, request, in: transaction)
      }
    }
  }

  private func answer(
    _ look: CommandRequest.Look, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    switch look {
    case .status(let id): try verifications.status(id, in: transaction)
    case .operationStatus(let id): try operationStatus(id, in: transaction)
    case .conversions(let figures): try conversions.list(figures, in: transaction)
    }
  }

  private func carryOut(
    _ change: CommandRequest.Change, _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    if let refusal = try tooOld(request, in: transaction) { return CommandAnswer(refusal) }
    let before = transaction.changeCount
    let answer: CommandAnswer? =
      switch change {
      case .start(let order): try verifications.startProven(order, request, in: transaction)
      case .check(let order): try verifications.check(order, request, in: transaction)
      case .cancel(let id): try verifications.cancel(id, request, in: transaction)
      case .verifyApp(let order): try appProofs.issue(order, request, in: transaction)
      case .revoke(let order): try revocations.start(order, request, in: transaction)
      case .liftBlock(let key): try conversions.lift(key, request, in: transaction)
      case .forget(let number): try eraser.forget(number, request, in: transaction)
      }
    guard let answer else {
      try transaction.reserve(message: request.envelope.identity.key, fingerprint: request.fingerprint)
      return nil
    }
    // The same command may succeed later, so this answer is not final. And an unchanged store has nothing to protect
    // from a second execution: a row for each such command would let senders fill the disk for free.
    guard !answer.isTransient, transaction.changeCount != before else { return answer }
    let reply = RecordedReply(fingerprint: request.fingerprint, type: answer.type.text, body: answer.body)
    try transaction.record(reply, toMessage: request.envelope.identity.key)
    return answer
  }

  /// Standing of a message ID that was seen before.
  private enum Known {
    case replied(CommandAnswer)
    case waiting
  }

  /// One ID is one command, also while the command waits.
  private func known(_ request: CommandRequest, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Known?
  {
    switch try transaction.inboxEntry(of: request.envelope.identity) {
    case .replied(let recorded): return .replied(again(recorded, for: request))
    case .waiting(let fingerprint):
      guard codes.isSame(request, as: fingerprint) else { return .replied(CommandAnswer(.reusedMessageID)) }
      // If its assessment is gone, it is carried out as if it had just arrived.
      return try verifications.gate.listen(request, in: transaction) ? .waiting : nil
    case nil: return nil
    }
  }

  private func again(_ recorded: RecordedReply, for request: CommandRequest) -> CommandAnswer {
    guard codes.isSame(request, as: recorded.fingerprint), let type = MessageType(parsing: recorded.type) else {
      return CommandAnswer(.reusedMessageID)
    }
    return CommandAnswer(type: type, again: recorded.body)
  }

  /// Reason that a command is too late to execute. Nothing was changed, so the answer is not recorded: under the same
  /// ID, with a current timestamp, it is carried out. A start that waits for its assessment arrived in time.
  private func tooOld(
    _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> APIError? {
    let envelope = request.envelope
    guard CommandAge.matters(to: envelope.type),
      let age = CommandAge.least(of: envelope.timestamp, at: transaction.now), age > rules.maxCommandAge,
      try transaction.pendingAssessment(of: envelope.identity) == nil
    else { return nil }
    return .commandTooOld(age, limit: rules.maxCommandAge)
  }

  /// Answers `operation.status` for a revocation or the receipt of an app.
  private func operationStatus(
    _ id: String, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    if let revocation = try transaction.revocation(id)?.content {
      return try CommandAnswer(OperationStatus(revocation))
    }
    if var proof = try transaction.appProof(id)?.content {
      // An expiry that the maintenance has not processed yet is shown here.
      _ = proof.apply(.deadlinePassed, at: transaction.now, under: rules.proof)
      return try CommandAnswer(OperationStatus(proof))
    }
    return CommandAnswer(.unknownOperation)
  }
}

extension APIError {
  static let unknownOperation = APIError(
    .invalidSessionInfo,
    "there is no such operation, or it is too long over: give back an operationID, or the receipt of app.verify",
    field: "operationID")
}
