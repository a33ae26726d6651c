import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct ProofGate: Sendable {
  private let rules: CoordinatorRules
  private let appProofs: AppProofService
  private let sealer: Sealer
  private let limits: RateLimits
  private let conversions: Conversions
  private let verifications: VerificationRecords
  private let metrics: CoordinatorMetrics
  private let assessments: AssessmentRecords

  init(
    _ rules: CoordinatorRules, appProofs: AppProofService, sealer: Sealer, limits: RateLimits,
    conversions: Conversions, verifications: VerificationRecords, metrics: CoordinatorMetrics
  ) {
    self.rules = rules
    self.appProofs = appProofs
    self.sealer = sealer
    self.limits = limits
    self.conversions = conversions
    self.verifications = verifications
    self.metrics = metrics
    assessments = AssessmentRecords(rules)
  }

  // MARK: Keys

  func addFirstKeys(
    of proof: ProofOrder, _ order: StartOrder, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    if let receipt = proof.evidence.receipt { appProofs.proofs.addKeys(ofReceipt: receipt, to: &keys) }
    if proof.isBinding { limits.addKeys(of: try limits.refusedStarts(from: order.address), to: &keys, at: now) }
    guard case .captcha(let captcha) = proof.evidence else { return }
    if let message = order.message { try assessments.addKeys(ofMessage: message, to: &keys) }
    try assessments.addKeys(ofToken: captcha.hash, to: &keys)
    limits.addKeys(of: try limits.checks(ofAssessmentFor: order.app.id, from: order.address), to: &keys, at: now)
  }

  func addMoreKeys(of proof: ProofOrder, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    guard case .pair(let receipt, _) = proof.evidence else { return }
    try appProofs.addMoreKeys(ofReceipt: receipt, to: &keys, from: set)
  }

  // MARK: Verdict

  func judge(
    _ proof: ProofOrder, _ order: StartOrder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> ProofVerdict {
    switch proof.evidence {
    case .none:
      metrics.countProof(.push, "missing", in: &set)
      return .admitted(ProofNotes(entries: [TimelineEntry(at: set.now, kind: .proofMissing)]))
    case .pair(let receipt, let secret):
      switch try appProofs.judge(receipt: receipt, secret: secret, for: order.app, cause: envelope, in: &set) {
      case .success(let notes): return .admitted(notes)
      case .failure(let refusal): return try refuse(refusal, proof, order, in: &set)
      }
    case .half(let receipt):
      let failure = try appProofs.pushFailure(of: receipt, app: order.app, in: set)
      return try refuse(.missingSecret(failure: failure), proof, order, in: &set)
    case .captcha(let captcha):
      return try judge(captcha, proof, order, envelope, in: &set)
    case .assessed(let captcha):
      return .admitted(try notes(captcha, order, in: set))
    }
  }

  /// A proof that anybody can make up is as good as none, and counts as a start without one.
  private func refuse(
    _ refusal: ProofRefusal, _ proof: ProofOrder, _ order: StartOrder, in set: inout WorkingSet
  ) throws(StoreError) -> ProofVerdict {
    let (method, outcome) = refusal.countedAs
    metrics.countProof(method, outcome, in: &set)
    let error = APIError(refusal)
    guard !proof.isBinding else {
      let before = set.changeCount
      let isNothingChanged = refusal != .wrongSecret
      if refusal.canBeMadeUp, let reached = try limits.admitRefusedStart(from: order.address, in: &set) {
        metrics.count(reached, in: &set)
        return .refused(CommandAnswer(APIError(reached)))
      }
      var answer = CommandAnswer(error)
      // A count is nothing to record an answer for.
      answer.isTransient = answer.isTransient || isNothingChanged && set.changeCount != before
      return .refused(answer)
    }
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
    if try assessments.hasSeen(captcha.hash, in: set) {
      return try refuse(.captchaReplayed, proof, order, in: &set)
    }
    if let refusal = try limit(order, isBinding: proof.isBinding, in: &set) {
      metrics.count(refusal, in: &set)
      return proof.isBinding ? .unjudged(refusal) : .admitted(ProofNotes())
    }
    let entries = try appProofs.pushEntries(of: captcha.receipt, app: order.app, in: set)
    guard proof.isBinding else { return .admitted(ProofNotes(entries: entries, audited: captcha)) }
    try assess(captcha, order, envelope, verificationID: nil, in: &set)
    metrics.countProof(.recaptcha, "asked", in: &set)
    return .deferred
  }

  private func limit(
    _ order: StartOrder, isBinding: Bool, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    // A live verification may be requested again without another SMS.
    if isBinding, try verifications.live(order.liveKey.get(), in: set) == nil {
      if let refusal = try conversions.refusal(of: order.limitedSend, in: set) { return refusal }
      if let refusal = limits.refusal(try order.limits.get(), in: set) { return refusal }
    }
    return limits.admit(try limits.checks(ofAssessmentFor: order.app.id, from: order.address), in: &set)
  }

  /// Redirects the answer of a waiting start to its latest requester: the command may have been sent again from
  /// elsewhere, or under another correlation ID.
  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
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

  func assess(
    _ captcha: CaptchaEvidence, _ order: StartOrder, _ envelope: Envelope, verificationID: String?,
    in set: inout WorkingSet
  ) throws(StoreError) {
    let now = set.now
    let assessment = Assessment(
      id: captcha.assessmentID, messageID: envelope.messageID, tokenHash: captcha.hash.current,
      verificationID: verificationID, command: WaitingStart(order, captcha, envelope), createdAt: now,
      expiresAt: now + rules.proof.assessmentTimeout)
    try assessments.put(assessment, isNew: true, in: &set)
    try set.send(
      .job(
        RecaptchaAssessJob.type, id: JobName(assessment.id, .captcha).text,
        correlationID: verificationID ?? assessment.id, cause: envelope, deadline: assessment.expiresAt,
        body: try job(captcha, assessment, action: captcha.action ?? order.app.recaptchaAction), at: now))
  }

  private func job(
    _ captcha: CaptchaEvidence, _ assessment: Assessment, action: String
  ) throws(StoreError) -> [UInt8] {
    let app = assessment.command.app
    let context = SealContext(
      messageType: RecaptchaAssessJob.type, messageID: JobName(assessment.id, .captcha).text, recipient: app)
    do {
      return try RecaptchaAssessJob(
        app: app, token: try sealer.seal(captcha.token, for: context), expectedAction: action,
        client: captcha.client.map { client in
          RecaptchaAssessJob.Client(
            ip: client.ip, userAgent: client.userAgent?.cut(toBytes: TokenLimit.maxUserAgentBytes))
        },
        phoneNumber: assessment.command.phoneNumber, deadline: assessment.expiresAt
      ).json()
    } catch {
      throw StoreError(.content, "a reCAPTCHA token cannot be sealed: \(error)")
    }
  }

  private func notes(
    _ captcha: AssessedCaptcha, _ order: StartOrder, in set: WorkingSet
  ) throws(StoreError) -> ProofNotes {
    let push = try appProofs.pushEntries(of: captcha.receipt, app: order.app, in: set)
    return ProofNotes(entries: push + [TimelineEntry(at: set.now, captcha)])
  }
}

extension TimelineEntry {
  init(at now: UnixTime, _ captcha: AssessedCaptcha) {
    self.init(
      at: now, captcha.report, accepted: .recaptchaAccepted, refused: .recaptchaRefused, expired: .recaptchaExpired,
      unknown: .recaptchaUnknown)
    if let score = captcha.score {
      detail = [detail, "score \(score)"].compactMap { $0 }.joined(separator: "; ")
    }
  }
}
