import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Decides by its proof of the app whether a start may go on.
struct ProofGate: Sendable {
  private let rules: CoordinatorRules
  private let appProofs: AppProofService
  private let jobs: ProofJobs
  private let limits: RateLimits
  private let conversions: Conversions
  private let verifications: VerificationRecords
  private let assessments: AssessmentRecords

  init(
    _ rules: CoordinatorRules, appProofs: AppProofService, jobs: ProofJobs, limits: RateLimits,
    conversions: Conversions, verifications: VerificationRecords
  ) {
    self.rules = rules
    self.appProofs = appProofs
    self.jobs = jobs
    self.limits = limits
    self.conversions = conversions
    self.verifications = verifications
    assessments = AssessmentRecords(rules)
  }

  // MARK: Keys

  /// Adds the assessment that a start may wait for under its ID, also when the configuration no longer asks for a proof.
  func addKeys(ofMessage message: MessageIdentity, to keys: inout StoreKeys) throws(StoreError) {
    try assessments.addKeys(ofMessage: message, to: &keys)
  }

  /// Adds what the proof of a start looks up, beyond what the start itself does.
  func addKeys(
    of proof: ProofOrder, _ order: StartOrder, _ envelope: Envelope, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    if let receipt = proof.evidence.receipt { appProofs.proofs.addKeys(ofReceipt: receipt, to: &keys) }
    guard case .captcha(let captcha) = proof.evidence else { return }
    try assessments.addKeys(ofToken: captcha.hash, to: &keys)
    try limits.addAssessmentKeys(app: order.app.id, from: order.address, to: &keys, at: now)
  }

  /// Adds what follows from the receipt of a proof: its device, whose messages are limited.
  func addMoreKeys(
    of proof: ProofOrder, _ order: StartOrder, _ envelope: Envelope, to keys: inout StoreKeys, from set: WorkingSet
  ) throws(StoreError) {
    switch proof.evidence {
    case .pair, .half: break
    case .none, .captcha, .assessed: return
    }
    guard let receipt = proof.evidence.receipt, let found = try appProofs.proofs.legible(receipt, in: set) else {
      return
    }
    try appProofs.revokedTokens.addKeys(of: found.token, to: &keys)
    guard let device = try device(of: proof, in: set) else { return }
    var order = order
    order.device = device
    try limits.addKeys(of: order.limitedSend, to: &keys, at: set.now)
  }

  /// The device that a proof names, if it is one of receipt and secret: it becomes that of the start once the proof is
  /// accepted.
  private func device(of proof: ProofOrder, in set: WorkingSet) throws(StoreError) -> TokenHash? {
    guard case .pair(let receipt, _) = proof.evidence else { return nil }
    return try appProofs.proofs.legible(receipt, in: set)?.token
  }

  // MARK: Verdict

  /// - Returns: the verdict. For an audited app it is never a refusal, and never has to be waited for.
  func judge(
    _ proof: ProofOrder, _ order: StartOrder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> ProofVerdict {
    switch proof.evidence {
    case .none:
      appProofs.count(.push, "missing", in: &set)
      return .admitted(ProofNotes(entries: [TimelineEntry(at: set.now, kind: .proofMissing)]))
    case .pair(let receipt, let secret):
      switch try appProofs.judge(receipt: receipt, secret: secret, for: order.app, cause: envelope, in: &set) {
      case .success(let notes): return .admitted(notes)
      case .failure(let error): return refuse(error.refusal, proof, in: &set)
      }
    case .half(let receipt):
      let failure = try appProofs.pushFailure(of: receipt, app: order.app, in: set)
      return refuse(.missingSecret(failure: failure), proof, in: &set)
    case .captcha(let captcha):
      return try judge(captcha, proof, order, envelope, in: &set)
    case .assessed(let captcha):
      return .admitted(try notes(captcha, order, in: set))
    }
  }

  private func refuse(_ refusal: ProofRefusal, _ proof: ProofOrder, in set: inout WorkingSet) -> ProofVerdict {
    let (method, outcome) = refusal.countedAs
    appProofs.count(method, outcome, in: &set)
    let error = APIError(refusal)
    guard !proof.isBinding else { return .refused(error) }
    let entry = TimelineEntry(at: set.now, kind: .proofRefused, reason: error.reason ?? error.code.rawValue)
    return .admitted(ProofNotes(entries: [entry]))
  }

  // MARK: reCAPTCHA

  private func judge(
    _ captcha: CaptchaEvidence, _ proof: ProofOrder, _ order: StartOrder, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> ProofVerdict {
    if let waiting = try assessments.waiting(envelope.identity, in: set),
      waiting.command.fingerprint == order.fingerprint
    {
      try redirect(waiting, to: envelope, in: &set)
      return .deferred
    }
    if try assessments.hasSeen(captcha.hash, in: set) { return refuse(.captchaReplayed, proof, in: &set) }
    if let refusal = try limit(order, isBinding: proof.isBinding, in: &set) {
      set.afterCommit { [metrics = appProofs.metrics] in metrics.countRefusal(refusal.scope) }
      return proof.isBinding ? .unjudged(refusal) : .admitted(ProofNotes())
    }
    let entries = try appProofs.pushEntries(of: captcha.receipt, app: order.app, in: set)
    guard proof.isBinding else { return .admitted(ProofNotes(entries: entries, audited: captcha)) }
    try assess(captcha, order, envelope, verificationID: nil, in: &set)
    appProofs.count(.recaptcha, "asked", in: &set)
    return .deferred
  }

  /// The limit that the start would exceed, including that of assessments.
  private func limit(
    _ order: StartOrder, isBinding: Bool, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    // A live verification may be requested again without another SMS.
    if isBinding, try verifications.live(order.key, in: set) == nil {
      if let refusal = try conversions.refusal(of: order.limitedSend, in: set) { return refusal }
      if let refusal = try limits.refusal(of: order.limitedSend, in: set) { return refusal }
    }
    return try limits.admitAssessment(app: order.app.id, from: order.address, in: &set)
  }

  /// Redirects the answer of a waiting start to its latest requester: the command may have been sent again from
  /// elsewhere, or under another correlation ID.
  /// - Returns: whether the start waits.
  func arriveAgain(
    _ order: StartOrder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> Bool {
    guard let waiting = try assessments.waiting(envelope.identity, in: set) else { return false }
    // The queue has compared the order with the one that waits.
    try redirect(waiting, to: envelope, in: &set)
    return true
  }

  private func redirect(
    _ waiting: Assessment, to envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    var assessment = waiting
    assessment.command.replyTo = envelope.replyTo
    assessment.command.correlationID = envelope.correlationID
    if assessment != waiting { try assessments.put(assessment, in: &set) }
  }

  /// Requests the assessment of a token.
  /// - Parameter verificationID: the verification that goes on without the outcome; absent when the start waits for it.
  func assess(
    _ captcha: CaptchaEvidence, _ order: StartOrder, _ envelope: Envelope, verificationID: String?,
    in set: inout WorkingSet
  ) throws(StoreError) {
    let now = set.now
    let assessment = Assessment(
      id: VerificationID.make(at: now), messageID: envelope.messageID, tokenHash: captcha.hash.current,
      verificationID: verificationID, command: WaitingStart(order, captcha, envelope), createdAt: now,
      expiresAt: now + rules.proof.assessmentTimeout)
    try assessments.put(assessment, in: &set)
    let body: [UInt8]
    do {
      body = try jobs.assessment(captcha, assessment, action: captcha.action ?? order.app.recaptchaAction)
    } catch {
      throw StoreError(.content, "a reCAPTCHA token cannot be sealed: \(error)")
    }
    try set.send(
      .job(
        RecaptchaAssessJob.type, id: JobName(assessment.id, .captcha).text,
        correlationID: verificationID ?? assessment.id, cause: envelope, deadline: assessment.expiresAt, body: body,
        at: now))
  }

  private func notes(
    _ captcha: AssessedCaptcha, _ order: StartOrder, in set: WorkingSet
  ) throws(StoreError) -> ProofNotes {
    let push = try appProofs.pushEntries(of: captcha.receipt, app: order.app, in: set)
    return ProofNotes(entries: push + [TimelineEntry(at: set.now, captcha)])
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
