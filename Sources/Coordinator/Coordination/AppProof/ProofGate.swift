import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import SQLite

/// Decides by its proof of the app whether a start may go on.
struct ProofGate: Sendable {
  private let rules: CoordinatorRules
  private let appProofs: AppProofService
  private let jobs: ProofJobs
  private let codes: VerificationCodes
  private let limits: RateLimits
  private let conversions: ConversionMonitor

  init(
    _ rules: CoordinatorRules, appProofs: AppProofService, jobs: ProofJobs, codes: VerificationCodes,
    limits: RateLimits,
    conversions: ConversionMonitor
  ) {
    self.rules = rules
    self.appProofs = appProofs
    self.jobs = jobs
    self.codes = codes
    self.limits = limits
    self.conversions = conversions
  }

  /// - Returns: the verdict. For an audited app it is never a refusal, and never has to be waited for.
  func judge(
    _ proof: ProofOrder, _ order: StartOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> ProofVerdict {
    switch proof.evidence {
    case .none:
      transaction.counts.proofs.append(ProofCount(.push, "missing"))
      return .admitted(ProofNotes(entries: [TimelineEntry(at: transaction.now, kind: .proofMissing)]))
    case .pair(let receipt, let secret):
      let result = try appProofs.judge(
        receipt: receipt, secret: secret, for: order.app, cause: request.envelope, in: transaction)
      switch result {
      case .success(let notes): return .admitted(notes)
      case .failure(let error): return refuse(error.refusal, proof, in: transaction)
      }
    case .half(let receipt):
      let failure = try appProofs.pushFailure(of: receipt, app: order.app, in: transaction)
      return refuse(.missingSecret(failure: failure), proof, in: transaction)
    case .captcha(let captcha):
      return try judge(captcha, proof, order, request, in: transaction)
    case .assessed(let captcha):
      return .admitted(try notes(captcha, order, in: transaction))
    }
  }

  private func refuse(
    _ refusal: ProofRefusal, _ proof: ProofOrder, in transaction: CoordinatorTransaction
  ) -> ProofVerdict {
    transaction.counts.proofs.append(ProofCount(refusal))
    let error = APIError(refusal)
    guard !proof.isBinding else { return .refused(error) }
    let entry = TimelineEntry(at: transaction.now, kind: .proofRefused, reason: error.reason ?? error.code.rawValue)
    return .admitted(ProofNotes(entries: [entry]))
  }

  // MARK: reCAPTCHA

  private func judge(
    _ captcha: CaptchaEvidence, _ proof: ProofOrder, _ order: StartOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> ProofVerdict {
    if try listen(request, in: transaction) { return .deferred }
    if try transaction.hasSeenCaptcha(captcha.hash) {
      return refuse(.captchaReplayed, proof, in: transaction)
    }
    if let refusal = try limit(order, isBinding: proof.isBinding, in: transaction) {
      transaction.counts.refusals.append(refusal.scope)
      return proof.isBinding ? .unjudged(refusal) : .admitted(ProofNotes())
    }
    let entries = try appProofs.pushEntries(of: captcha.receipt, app: order.app, in: transaction)
    guard proof.isBinding else { return .admitted(ProofNotes(entries: entries, audited: captcha)) }
    try assess(captcha, order, request, verificationID: nil, in: transaction)
    transaction.counts.proofs.append(ProofCount(.recaptcha, "asked"))
    return .deferred
  }

  /// The limit that the start would exceed, including that of assessments.
  private func limit(
    _ order: StartOrder, isBinding: Bool, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    // A live verification may be requested again without another SMS.
    if isBinding, try transaction.liveVerification(order.key) == nil {
      let now = transaction.now
      if let refusal = conversions.refusal(of: order.limitedSend, at: now) { return refusal }
      if let refusal = try limits.refusal(of: order.limitedSend, at: now, in: transaction) { return refusal }
    }
    return try limits.admitAssessment(app: order.app.id, from: order.address, at: transaction.now, in: transaction)
  }

  /// Redirects the answer of a waiting start to its latest requester: the command may have been sent again from
  /// elsewhere, or under another correlation ID.
  /// - Returns: whether the start waits.
  func listen(_ request: CommandRequest, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Bool {
    guard var stored = try transaction.pendingAssessment(of: request.envelope.identity),
      codes.isSame(request, as: stored.content.command.fingerprint)
    else { return false }
    let before = stored.content.command
    stored.content.command.replyTo = request.envelope.replyTo
    stored.content.command.correlationID = request.envelope.correlationID
    if stored.content.command != before { try transaction.store(stored) }
    return true
  }

  /// Requests the assessment of a token.
  /// - Parameter verificationID: the verification that goes on without the outcome; absent when the start waits for it.
  func assess(
    _ captcha: CaptchaEvidence, _ order: StartOrder, _ request: CommandRequest, verificationID: String?,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    let now = transaction.now
    let envelope = request.envelope
    let assessment = Assessment(
      id: VerificationID.make(at: now), messageID: envelope.messageID,
      tokenHash: captcha.hash.current, verificationID: verificationID,
      command: WaitingStart(order, captcha, request), createdAt: now, expiresAt: now + rules.proof.assessmentTimeout)
    try transaction.add(assessment)
    let body: [UInt8]
    do {
      body = try jobs.assessment(captcha, assessment, action: captcha.action ?? order.app.recaptchaAction)
    } catch {
      throw DatabaseError(.content, "a reCAPTCHA token cannot be sealed: \(error)")
    }
    transaction.enqueue(
      .job(
        RecaptchaAssessJob.type, JobName(assessment.id, .captcha), correlationID: verificationID ?? assessment.id,
        causationID: envelope.messageID, trace: envelope.trace, deadline: assessment.expiresAt, body: body, at: now))
  }

  private func notes(
    _ captcha: AssessedCaptcha, _ order: StartOrder, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> ProofNotes {
    let push = try appProofs.pushEntries(of: captcha.receipt, app: order.app, in: transaction)
    return ProofNotes(entries: push + [TimelineEntry(at: transaction.now, captcha)])
  }
}

extension TimelineEntry {
  /// A worker's assessment of a reCAPTCHA token.
  init(at now: UnixTime, _ captcha: AssessedCaptcha) {
    self.init(
      at: now, captcha.report, accepted: .recaptchaAccepted, refused: .recaptchaRefused, expired: .recaptchaExpired,
      unknown: .recaptchaUnknown)
    if let score = captcha.score {
      detail = [detail, "score \(score)"].compactMap { $0 }.joined(separator: "; ")
    }
  }
}
