import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import SQLite

/// Executes commands inside a transaction.
struct CommandHandler: Sendable {
  let rules: CoordinatorRules
  let keeper: CodeKeeper
  private let jobs: SMSJobMaker
  let book: LimitBook
  private let announcements: AnnouncementMaker
  let gate: ProofGate
  private let receipts: AppHandler
  private let revocations: RevocationHandler
  private let operations: OperationLookup
  let conversions: ConversionKeeper
  private let conversionHandler: ConversionHandler
  private let eraser: NumberEraser

  init(
    _ rules: CoordinatorRules, keeper: CodeKeeper, jobs: SMSJobMaker, operations kit: OperationKit,
    conversions: ConversionKeeper
  ) {
    self.rules = rules
    self.keeper = keeper
    self.jobs = jobs
    book = LimitBook(rules.limits, subjects: kit.keeper.subjects)
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
    receipts = kit.receipts
    gate = ProofGate(
      rules, receipts: kit.receipts, jobs: kit.proofJobs, keeper: keeper, subjects: kit.keeper.subjects,
      conversions: conversions)
    revocations = kit.revocations
    operations = OperationLookup(rules)
    self.conversions = conversions
    conversionHandler = ConversionHandler(rules)
    eraser = NumberEraser(rules, subjects: kit.keeper.subjects)
  }

  /// Outcome of a command: the answer, and its counts for the metrics.
  struct Outcome: Sendable {
    /// Absent when the command waits: it is answered later.
    var answer: CommandAnswer?
    var tally = Tally()
  }

  /// Executes a command, or returns the recorded answer of an earlier execution.
  func handle(_ request: CommandRequest, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Outcome {
    // A look changes nothing, so it is neither recorded nor answered from a record.
    if case .status(let id) = request.order { return Outcome(answer: try status(id, in: transaction)) }
    if case .operationStatus(let id) = request.order {
      return Outcome(answer: try operations.status(id, in: transaction))
    }
    if case .conversions(let figures) = request.order {
      return Outcome(answer: try conversionHandler.list(figures, in: transaction))
    }
    if let known = try known(request, in: transaction) { return known }
    if let refusal = try tooOld(request, in: transaction) { return Outcome(answer: CommandAnswer(refusal)) }
    let before = transaction.changeCount
    var tally = Tally()
    let answer: CommandAnswer? =
      switch request.order {
      case .start(let order) where order.proof != nil:
        try startProven(order, request, &tally, in: transaction)
      case .start(let order): try start(order, request, &tally, in: transaction)
      case .check(let order): try check(order, request, &tally, in: transaction)
      case .cancel(let id): try cancel(id, request, &tally, in: transaction)
      case .status(let id): try status(id, in: transaction)
      case .verifyApp(let order): try receipts.issue(order, request, &tally, in: transaction)
      case .revoke(let order): try revocations.start(order, request, &tally, in: transaction)
      case .operationStatus(let id): try operations.status(id, in: transaction)
      case .conversions(let figures): try conversionHandler.list(figures, in: transaction)
      case .liftBlock(let key): try conversionHandler.lift(key, request, in: transaction)
      case .forget(let number): try eraser.forget(number, request, &tally, in: transaction)
      }
    guard let answer else {
      try transaction.reserve(message: request.envelope.identity.key, fingerprint: request.fingerprint)
      return Outcome(answer: nil, tally: tally)
    }
    // The same command may succeed later, so this answer is not final. And an unchanged store has nothing to protect
    // from a second execution: a row for each such command would let senders fill the disk for free.
    guard !answer.isTransient, transaction.changeCount != before else { return Outcome(answer: answer, tally: tally) }
    let reply = RecordedReply(fingerprint: request.fingerprint, type: answer.type.text, body: answer.body)
    try transaction.record(reply, toMessage: request.envelope.identity.key)
    return Outcome(answer: answer, tally: tally)
  }

  /// Resumes a waiting start. It has its place in the inbox, and its age is that of its assessment.
  func resume(
    _ order: StartOrder, _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Outcome {
    var tally = Tally()
    let answer = try startProven(order, request, &tally, in: transaction)
    return Outcome(answer: answer, tally: tally)
  }

  /// Outcome of a message ID that was seen before. One ID is one command, also while the command waits.
  private func known(
    _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Outcome? {
    switch try transaction.inboxEntry(of: request.envelope.identity) {
    case .replied(let recorded): return Outcome(answer: again(recorded, for: request))
    case .waiting(let fingerprint):
      guard keeper.isSame(request, as: fingerprint) else { return Outcome(answer: CommandAnswer(.reusedMessageID)) }
      // If its assessment is gone, it is carried out as if it had just arrived.
      return try gate.listen(request, in: transaction) ? Outcome(answer: nil) : nil
    case nil: return nil
    }
  }

  private func again(_ recorded: RecordedReply, for request: CommandRequest) -> CommandAnswer {
    guard keeper.isSame(request, as: recorded.fingerprint), let type = MessageType(parsing: recorded.type) else {
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

  // MARK: Actions

  /// Performs the actions of a command, exactly one of which answers it.
  func answer(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ request: CommandRequest,
    _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    try perform(actions, on: asked, order, request, &tally, in: transaction) ?? CommandAnswer(.notStored)
  }

  /// - Returns: the answer, when one of the actions is one.
  @discardableResult
  func perform(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ request: CommandRequest,
    _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    let now = transaction.now
    let verification = asked.verification
    tally.note(actions, on: verification)
    var answer: CommandAnswer?
    for action in actions {
      switch action {
      case .sendMessage(let number):
        transaction.enqueue(try job(number, of: verification, order, request, at: now))
      case .announce(let announcement, to: let handle):
        transaction.enqueue(
          try Self.written {
            () throws(ContractProblem) in
            try announcements.message(announcement, of: verification, to: handle, cause: request.envelope, at: now)
          })
      case .compareCode: break
      case .answerStarted(let resent): answer = started(asked, resent: resent, at: now)
      case .answerApproved: answer = CommandAnswer(VerificationApproved(asked, at: now))
      case .answerCanceled: answer = try Self.answer(VerificationCanceled(asked, at: now))
      case .refuse(let refusal): answer = CommandAnswer(APIError(refusal))
      }
    }
    return answer
  }

  func started(_ asked: AskedVerification, resent: Bool, at now: UnixTime) -> CommandAnswer {
    CommandAnswer(VerificationStarted(asked, codeLength: rules.policy.codeLength, resent: resent, at: now))
  }

  private func job(
    _ number: Int, of verification: PhoneVerification, _ order: StartOrder?, _ request: CommandRequest,
    at now: UnixTime
  ) throws(DatabaseError) -> OutgoingMessage {
    OutgoingMessage(
      duty: .kept, exchange: Topology.Exchanges.jobs, routingKey: SMSDispatchJob.routingKey,
      type: SMSDispatchJob.type.text, messageID: SMSJobMaker.jobID(verification.id, message: number),
      correlationID: verification.id, causationID: request.envelope.messageID,
      traceparent: request.envelope.trace?.child().traceparent, timestamp: now,
      discardAfter: verification.expiresAt, body: try jobBody(number, of: verification, order))
  }

  private func jobBody(
    _ number: Int, of verification: PhoneVerification, _ order: StartOrder?
  ) throws(DatabaseError) -> [UInt8] {
    if number == 1, let order, order.fresh.verification.id == verification.id, let body = order.fresh.firstJob {
      return body
    }
    guard let order, let code = keeper.code(of: verification.code, for: verification.id) else {
      throw DatabaseError(.content, "a code to send again cannot be made")
    }
    do {
      return try jobs.body(of: verification, message: number, code: code, app: order.app)
    } catch {
      throw DatabaseError(.content, "a code to send again cannot be sealed: \(error)")
    }
  }

  static func answer(_ body: some MessageBody) throws(DatabaseError) -> CommandAnswer {
    try written { () throws(ContractProblem) in try CommandAnswer(body) }
  }

  /// A body that cannot be written undoes the batch, like a failure of the database.
  private static func written<T>(_ make: () throws(ContractProblem) -> T) throws(DatabaseError) -> T {
    do throws(ContractProblem) {
      return try make()
    } catch {
      throw DatabaseError(.content, "a message cannot be written: \(error)")
    }
  }
}

/// Answers `operation.status` for a revocation or the receipt of an app.
struct OperationLookup: Sendable {
  private let proofPolicy: ProofPolicy

  init(_ rules: CoordinatorRules) {
    proofPolicy = rules.proof
  }

  func status(_ id: String, in transaction: CoordinatorTransaction) throws(DatabaseError) -> CommandAnswer {
    if let revocation = try transaction.revocation(id)?.content {
      return try .written(OperationStatus(revocation))
    }
    if var proof = try transaction.appProof(id)?.content {
      // An expiry that the maintenance has not processed yet is shown here.
      _ = proof.apply(.deadlinePassed, at: transaction.now, under: proofPolicy)
      return try .written(OperationStatus(proof))
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

extension OperationStatus {
  init(_ revocation: Revocation) {
    let state: State =
      switch revocation.state {
      case .revoking, .notifying: .running
      case .completed: .completed
      case .failed: .failed
      }
    self.init(
      operationID: revocation.id, kind: .appleRevocation, app: revocation.app, state: state,
      failure: revocation.failure.map { .init(code: $0.code, detail: $0.detail) }, startedAt: revocation.createdAt,
      expiresAt: revocation.expiresAt, timeline: revocation.timeline.entries.map(VerificationStatus.Entry.init))
    ending = revocation.ending
  }

  init(_ proof: AppProof) {
    let state: State =
      switch proof.state {
      case .waiting, .delivered: .running
      case .undelivered: .failed
      case .proven: .completed
      case .expired: .expired
      case .revoked: .revoked
      }
    self.init(
      operationID: proof.receipt, kind: .appVerification, app: proof.app, state: state,
      failure: proof.failure.map { .init(code: $0.code, detail: $0.detail) }, startedAt: proof.createdAt,
      expiresAt: proof.expiresAt, timeline: proof.timeline.entries.map(VerificationStatus.Entry.init))
  }
}

/// Components shared by the handlers of proofs and revocations.
struct OperationKit: Sendable {
  let keeper: ProofKeeper
  let proofJobs: ProofJobMaker
  let revocationJobs: RevocationJobMaker
  let receipts: AppHandler
  let revocations: RevocationHandler

  init(_ rules: CoordinatorRules, keeper: ProofKeeper, sealer: Sealer) {
    self.keeper = keeper
    proofJobs = ProofJobMaker(sealer: sealer)
    revocationJobs = RevocationJobMaker(sealer: sealer)
    receipts = AppHandler(rules, keeper: keeper)
    revocations = RevocationHandler(rules, jobs: revocationJobs, subjects: keeper.subjects)
  }
}
