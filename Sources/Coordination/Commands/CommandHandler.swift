import Database
import Messages
import PhoneNumbers
import Telemetry

/// Carries commands out, inside a transaction.
struct CommandHandler: Sendable {
  private let rules: CoordinatorRules
  private let keeper: CodeKeeper
  private let jobs: SMSJobMaker
  private let book: LimitBook
  private let announcements: AnnouncementMaker
  let gate: ProofGate
  private let receipts: AppHandler
  private let revocations: RevocationHandler
  private let operations: OperationLookup
  private let conversions: ConversionKeeper
  private let conversionHandler: ConversionHandler

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
      rules, receipts: kit.receipts, jobs: kit.proofJobs, subjects: kit.keeper.subjects, conversions: conversions)
    revocations = kit.revocations
    operations = OperationLookup(rules)
    self.conversions = conversions
    conversionHandler = ConversionHandler(rules)
  }

  /// What a command did: the answer, and what the metrics count.
  struct Outcome: Sendable {
    /// Absent when the command waits for something: it is answered later.
    var answer: CommandAnswer?
    var tally = Tally()
  }

  /// Carries a command out, or finds that this was done before and gives the same answer again.
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
    var tally = Tally()
    let answer: CommandAnswer? =
      switch request.order {
      case .start(let order) where order.proof != nil:
        try startProven(order, request, &tally, in: transaction)
      case .start(let order): try start(order, request, &tally, in: transaction)
      case .check(let id, let code): try check(id, code: code, request, &tally, in: transaction)
      case .cancel(let id): try cancel(id, request, &tally, in: transaction)
      case .status(let id): try status(id, in: transaction)
      case .verifyApp(let order): try receipts.issue(order, request, &tally, in: transaction)
      case .revoke(let order): try revocations.start(order, request, &tally, in: transaction)
      case .operationStatus(let id): try operations.status(id, in: transaction)
      case .conversions(let figures): try conversionHandler.list(figures, in: transaction)
      case .liftBlock(let key): try conversionHandler.lift(key, request, in: transaction)
      }
    guard let answer else {
      try transaction.reserve(messageID: request.envelope.messageID, fingerprint: request.fingerprint)
      return Outcome(answer: nil, tally: tally)
    }
    // The same command may succeed later, so that answer is none for good.
    guard !answer.isTransient else { return Outcome(answer: answer, tally: tally) }
    let reply = RecordedReply(fingerprint: request.fingerprint, type: answer.type.text, body: answer.body)
    try transaction.record(reply, toMessage: request.envelope.messageID)
    return Outcome(answer: answer, tally: tally)
  }

  /// Goes on with a start that waited. It has its place in the inbox, and its age is that of its assessment.
  func resume(
    _ order: StartOrder, _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Outcome {
    var tally = Tally()
    let answer = try startProven(order, request, &tally, in: transaction)
    return Outcome(answer: answer, tally: tally)
  }

  /// Outcome of a message whose ID came before. One ID is one command, also while that waits.
  private func known(
    _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Outcome? {
    switch try transaction.inboxEntry(ofMessage: request.envelope.messageID) {
    case .replied(let recorded): return Outcome(answer: Self.again(recorded, for: request))
    case .waiting(let fingerprint):
      guard fingerprint == request.fingerprint else { return Outcome(answer: CommandAnswer(.reusedMessageID)) }
      // Without what it waits for, it is carried out as if it had just come.
      return try gate.listen(request, in: transaction) ? Outcome(answer: nil) : nil
    case nil: return nil
    }
  }

  private static func again(_ recorded: RecordedReply, for request: CommandRequest) -> CommandAnswer {
    guard recorded.fingerprint == request.fingerprint, let type = MessageType(parsing: recorded.type) else {
      return CommandAnswer(.reusedMessageID)
    }
    return CommandAnswer(type: type, body: recorded.body, error: nil)
  }

  /// Reason for which a command is too late to be carried out. Nothing was changed, so the answer is not recorded: under the same ID, with a
  /// timestamp of the present, it is carried out. What waits for its assessment came in time.
  private func tooOld(
    _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> APIError? {
    let envelope = request.envelope
    guard CommandAge.matters(to: envelope.type),
      let age = CommandAge.least(of: envelope.timestamp, at: transaction.now), age > rules.maxCommandAge,
      try transaction.pendingAssessment(ofMessage: envelope.messageID) == nil
    else { return nil }
    return .commandTooOld(age, limit: rules.maxCommandAge)
  }

  // MARK: Commands

  func start(
    _ order: StartOrder, _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let now = transaction.now
    let live = try transaction.liveVerification(of: order.number.e164, app: order.app.id)
    let end = live.flatMap { endingEvent(of: $0, order, at: now) }
    if var live, end == nil { return try startAgain(&live, order, request, &tally, in: transaction) }
    let refusal = order.fixedCode == nil ? try admitNew(order, in: transaction) : nil
    if let refusal { tally.refusals.append(refusal.scope) }
    // Where no new one may begin, the old one still serves.
    if let live, end == .replaced, let refusal { return stillLive(live, refusal, at: now) }
    if var live, let end {
      try perform(live.apply(end, at: now, under: rules.policy), on: live, order, request, &tally, in: transaction)
      transaction.set(live)
    }
    if let refusal { return CommandAnswer(APIError(refusal)) }
    var verification = order.fresh.verification
    let actions = verification.apply(.started, at: now, under: rules.policy)
    transaction.set(verification)
    return try answer(actions, on: verification, order, request, &tally, in: transaction)
  }

  private func startAgain(
    _ live: inout PhoneVerification, _ order: StartOrder, _ request: CommandRequest, _ tally: inout Tally,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    if live.isResendDue(at: transaction.now, under: rules.policy), let refusal = try admit(order, in: transaction) {
      tally.refusals.append(refusal.scope)
      return stillLive(live, refusal, at: transaction.now)
    }
    let before = live
    let actions = live.apply(.startedAgain(languageCode: order.languageCode), at: transaction.now, under: rules.policy)
    if live != before { transaction.set(live) }
    return try answer(actions, on: live, order, request, &tally, in: transaction)
  }

  /// The answer where no message may be sent: the code that was sent is valid, and whoever has lost the ID needs it to give it back.
  private func stillLive(_ live: PhoneVerification, _ refusal: LimitRefusal, at now: UnixTime) -> CommandAnswer {
    CommandAnswer(
      VerificationStarted(live, codeLength: rules.policy.codeLength, resent: false, wait: refusal.wait, at: now))
  }

  /// Reason for which a live verification cannot be gone on with: its time is over, or almost, or its code is lost.
  private func endingEvent(
    of live: PhoneVerification, _ order: StartOrder, at now: UnixTime
  ) -> VerificationEvent? {
    if !live.isLive(at: now) { return .deadlinePassed }
    if live.isTestNumber != (order.fixedCode != nil) { return .codeLost }
    if let fixedCode = order.fixedCode {
      return keeper.matches(fixedCode, live.code, for: live.id) ? nil : .codeLost
    }
    if live.isTooOldToResend(at: now, under: rules.policy) { return .replaced }
    return live.isResendDue(at: now, under: rules.policy) && keeper.code(of: live.code, for: live.id) == nil
      ? .codeLost : nil
  }

  /// Only a new verification is judged by the conversion: one that lives is gone on with.
  private func admitNew(
    _ order: StartOrder, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    if let refusal = conversions.refusal(of: order.limitedSend, at: transaction.now) { return refusal }
    return try admit(order, in: transaction)
  }

  private func admit(
    _ order: StartOrder, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    var store = transaction
    return try book.admit(order.limitedSend, at: transaction.now, in: &store)
  }

  private func check(
    _ id: String, code: String, _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    guard let before = try find(id, in: transaction) else {
      keeper.matchNothing(code)
      return CommandAnswer(.unknownVerification)
    }
    let now = transaction.now
    let limited = LimitedCheck(
      app: before.app, number: before.phoneNumber, address: nil, isFictional: before.isTestNumber,
      isFirstCode: before.checks == 0)
    var verification = before
    var actions = verification.apply(.checkRequested, at: now, under: rules.policy)
    if actions == [.compareCode] {
      if let refusal = try admit(limited, in: transaction) {
        keeper.matchNothing(code)
        tally.refusals.append(refusal.scope)
        return CommandAnswer(APIError(refusal))
      }
      let event = compare(code, with: verification)
      if event == .codeCompared(matches: false) { try countWrong(limited, &tally, in: transaction) }
      actions = verification.apply(event, at: now, under: rules.policy)
      if event == .codeLost { actions.append(.refuse(.notSent(.codeLost))) }
    } else {
      keeper.matchNothing(code)
    }
    if verification != before { transaction.set(verification) }
    return try answer(actions, on: verification, nil, request, &tally, in: transaction)
  }

  private func admit(
    _ check: LimitedCheck, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    var store = transaction
    return try book.admitCheck(check, at: transaction.now, in: &store)
  }

  private func countWrong(
    _ check: LimitedCheck, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    if check.isFictional { tally.wrongCodes.fictional += 1 } else { tally.wrongCodes.real += 1 }
    var store = transaction
    try book.countWrong(check, at: transaction.now, in: &store)
  }

  private func compare(_ code: String, with verification: PhoneVerification) -> VerificationEvent {
    let matches = keeper.matches(code, verification.code, for: verification.id)
    return keeper.knowsPepper(of: verification.code) ? .codeCompared(matches: matches) : .codeLost
  }

  private func cancel(
    _ id: String, _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    guard let before = try find(id, in: transaction) else { return CommandAnswer(.unknownVerification) }
    var verification = before
    let actions = verification.apply(.cancelRequested, at: transaction.now, under: rules.policy)
    if verification != before { transaction.set(verification) }
    return try answer(actions, on: verification, nil, request, &tally, in: transaction)
  }

  private func status(_ id: String, in transaction: CoordinatorTransaction) throws(DatabaseError) -> CommandAnswer {
    guard var verification = try find(id, in: transaction) else { return CommandAnswer(.unknownVerification) }
    // What the sweeper has not come to yet is shown as it is, and stored by the sweeper.
    _ = verification.apply(.deadlinePassed, at: transaction.now, under: rules.policy)
    return try Self.answer(VerificationStatus(verification))
  }

  private func find(
    _ id: String, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> PhoneVerification? {
    guard !id.isEmpty, id.utf8.count <= VerificationID.maxLength else { return nil }
    return try transaction.verification(id)
  }

  // MARK: Actions

  /// What comes of a command: every one of them leads to one action that answers it.
  private func answer(
    _ actions: [VerificationAction], on verification: PhoneVerification, _ order: StartOrder?,
    _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    try perform(actions, on: verification, order, request, &tally, in: transaction) ?? CommandAnswer(.notStored)
  }

  /// - Returns: the answer, when one of the actions is one.
  @discardableResult
  private func perform(
    _ actions: [VerificationAction], on verification: PhoneVerification, _ order: StartOrder?,
    _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    let now = transaction.now
    var answer: CommandAnswer?
    for action in actions {
      switch action {
      case .sendMessage(let number):
        transaction.enqueue(try job(number, of: verification, order, request, at: now))
      case .announce(let announcement):
        tally.announcements.append(announcement)
        transaction.enqueue(
          try Self.written {
            () throws(ContractProblem) in
            try announcements.message(announcement, of: verification, cause: request.envelope, at: now)
          })
      case .compareCode:
        break
      case .answerStarted(let resent):
        answer = CommandAnswer(
          VerificationStarted(verification, codeLength: rules.policy.codeLength, resent: resent, at: now))
      case .answerApproved:
        answer = CommandAnswer(
          VerificationApproved(
            verificationID: verification.id, app: verification.app, phoneNumber: verification.phoneNumber,
            approvedAt: verification.endedAt ?? now))
      case .answerCanceled:
        answer = try Self.answer(
          VerificationCanceled(
            verificationID: verification.id, app: verification.app, phoneNumber: verification.phoneNumber,
            canceledAt: verification.endedAt ?? now))
      case .refuse(let refusal):
        answer = CommandAnswer(APIError(refusal))
      }
    }
    return answer
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

  private static func answer(_ body: some MessageBody) throws(DatabaseError) -> CommandAnswer {
    try written { () throws(ContractProblem) in try CommandAnswer(body) }
  }

  /// What cannot be written undoes the batch, like a failure of the database.
  private static func written<T>(_ make: () throws(ContractProblem) -> T) throws(DatabaseError) -> T {
    do throws(ContractProblem) {
      return try make()
    } catch {
      throw DatabaseError(.content, "a message cannot be written: \(error)")
    }
  }
}
