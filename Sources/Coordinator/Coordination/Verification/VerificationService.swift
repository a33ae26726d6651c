import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import SQLite

/// Starts, checks, cancels and shows verifications, inside a transaction.
struct VerificationService: Sendable {
  let rules: CoordinatorRules
  let codes: VerificationCodes
  let limits: RateLimits
  let gate: ProofGate
  let conversions: ConversionMonitor
  private let jobs: SMSJobs
  private let events: VerificationEvents

  init(
    _ rules: CoordinatorRules, codes: VerificationCodes, jobs: SMSJobs, limits: RateLimits, gate: ProofGate,
    conversions: ConversionMonitor
  ) {
    self.rules = rules
    self.codes = codes
    self.jobs = jobs
    self.limits = limits
    self.gate = gate
    self.conversions = conversions
    events = VerificationEvents(codeLength: rules.policy.codeLength)
  }

  /// Performs the actions of a command, exactly one of which answers it.
  func answer(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    try perform(actions, on: asked, order, request, in: transaction) ?? CommandAnswer(.notStored)
  }

  /// - Returns: the answer, when one of the actions is one.
  @discardableResult
  func perform(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    let now = transaction.now
    let verification = asked.verification
    transaction.counts.note(actions, on: verification)
    var answer: CommandAnswer?
    for action in actions {
      switch action {
      case .sendMessage(let number):
        transaction.enqueue(try job(number, of: verification, order, request, at: now))
      case .announce(let announcement, to: let handle):
        transaction.enqueue(
          try events.message(announcement, of: verification, to: handle, cause: request.envelope, at: now))
      case .compareCode: break
      case .answerStarted(let resent): answer = started(asked, resent: resent, at: now)
      case .answerApproved: answer = CommandAnswer(VerificationApproved(asked, at: now))
      case .answerCanceled: answer = try CommandAnswer(VerificationCanceled(asked, at: now))
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
      type: SMSDispatchJob.type.text, messageID: SMSJobs.jobID(verification.id, message: number),
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
    guard let order, let code = codes.code(of: verification.code, for: verification.id) else {
      throw DatabaseError(.content, "a code to send again cannot be made")
    }
    do {
      return try jobs.body(of: verification, message: number, code: code, app: order.app)
    } catch {
      throw DatabaseError(.content, "a code to send again cannot be sealed: \(error)")
    }
  }
}
