import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// Starts, checks, cancels and shows verifications, inside a transaction.
final class VerificationService: Sendable {
  let rules: CoordinatorRules
  let codes: VerificationCodes
  let limits: RateLimits
  let gate: ProofGate
  let records: VerificationRecords
  let conversions: Conversions
  let metrics: CoordinatorMetrics
  let jobs: SMSJobs
  private let events: VerificationEvents

  init(
    _ rules: CoordinatorRules, codes: VerificationCodes, jobs: SMSJobs, limits: RateLimits, gate: ProofGate,
    records: VerificationRecords, conversions: Conversions, metrics: CoordinatorMetrics
  ) {
    self.rules = rules
    self.codes = codes
    self.jobs = jobs
    self.limits = limits
    self.gate = gate
    self.records = records
    self.conversions = conversions
    self.metrics = metrics
    events = VerificationEvents(rules, metrics: metrics)
  }

  /// Performs the actions of a command, exactly one of which answers it.
  func answer(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    try perform(actions, on: asked, order, envelope, in: &set) ?? CommandAnswer(.notStored)
  }

  /// - Returns: the answer, when one of the actions is one.
  @discardableResult
  func perform(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer? {
    let now = set.now
    let verification = asked.verification
    events.count(actions, on: verification, in: &set)
    var answer: CommandAnswer?
    for action in actions {
      switch action {
      case .sendMessage(let number):
        try set.send(job(number, of: verification, order, envelope, at: now))
      case .announce(let announcement, to: let handle):
        try set.send(events.message(announcement, of: verification, to: handle, cause: envelope, at: now))
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
    _ number: Int, of verification: PhoneVerification, _ order: StartOrder?, _ envelope: Envelope,
    at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    .job(
      SMSDispatchJob.type, id: SMSJobs.jobID(verification.id, message: number), correlationID: verification.id,
      cause: envelope, deadline: verification.expiresAt, body: try jobBody(number, of: verification, order), at: now)
  }

  private func jobBody(
    _ number: Int, of verification: PhoneVerification, _ order: StartOrder?
  ) throws(StoreError) -> [UInt8] {
    if number == 1, let order, order.fresh.verification.id == verification.id, let body = order.fresh.firstJob {
      return body
    }
    guard let order, let code = codes.code(of: verification.code, for: verification.id) else {
      throw StoreError(.content, "a code to send again cannot be made")
    }
    do {
      return try jobs.body(of: verification, message: number, code: code, app: order.app)
    } catch {
      throw StoreError(.content, "a code to send again cannot be sealed: \(error)")
    }
  }
}

extension CommandAnswer {
  init(_ started: VerificationStarted) {
    self.init(type: VerificationStarted.type, body: started.fastJSON)
  }

  init(_ approved: VerificationApproved) {
    self.init(type: VerificationApproved.type, body: approved.fastJSON)
  }
}
