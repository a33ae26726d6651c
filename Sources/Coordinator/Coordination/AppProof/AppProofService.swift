import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Handles receipts of apps: issues them, judges returned secrets; its reports are in `AppProofService+reports.swift`.
struct AppProofService: Sendable {
  let rules: CoordinatorRules
  private let hashes: KeyedHashes
  private let limits: RateLimits
  let metrics: CoordinatorMetrics
  let proofs: AppProofRecords
  let refusedTokens = RefusedTokenRecords()
  let revokedTokens: RevokedTokenRecords

  init(_ rules: CoordinatorRules, hashes: KeyedHashes, limits: RateLimits, metrics: CoordinatorMetrics) {
    self.rules = rules
    self.hashes = hashes
    self.limits = limits
    self.metrics = metrics
    proofs = AppProofRecords(rules)
    revokedTokens = RevokedTokenRecords(rules)
  }

  // MARK: Receipts

  func addKeys(of order: AppOrder, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try refusedTokens.addKeys(of: order.proof.token, order.proof.environment, to: &keys)
    try limits.addReceiptKeys(
      ofToken: order.proof.token, app: order.proof.app, from: order.address, to: &keys, at: now)
  }

  /// Issues a receipt. Its push is held until the reply is out.
  func issue(
    _ order: AppOrder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    var proof = order.proof
    if let failure = try refusedTokens.refusal(of: proof.token, proof.environment, in: set) {
      count(.push, "known_refusal", in: &set)
      return CommandAnswer(APIError(refusedToken: failure))
    }
    let refusal = try limits.admitReceipt(ofToken: proof.token, app: proof.app, from: order.address, in: &set)
    if let refusal {
      set.afterCommit { [metrics] in metrics.countRefusal(refusal.scope) }
      return CommandAnswer(APIError(refusal))
    }
    let actions = proof.apply(.issued, at: set.now, under: rules.proof)
    try proofs.put(proof, in: &set)
    if actions.contains(.push) {
      let job = OutgoingMessage.job(
        PushVerifyJob.type, id: JobName(proof.receipt, .push).text, correlationID: proof.receipt, cause: envelope,
        deadline: set.now + rules.proof.pushDeadline, body: order.job, at: set.now)
      try set.send(job, afterReplyTo: envelope.identity)
    }
    count(.push, "issued", in: &set)
    let timeout = Int(max(1, rules.proof.suggestedTimeout.components.seconds))
    return try CommandAnswer(AppVerifying(receipt: proof.receipt, suggestedTimeout: timeout))
  }

  /// Counts what became of a proof, once it is stored.
  func count(_ method: AppVerified.Method, _ outcome: String, in set: inout WorkingSet) {
    set.afterCommit { [metrics] in metrics.countProof(method, outcome) }
  }

  // MARK: Secrets

  /// Judges a receipt and its secret.
  /// - Returns: the established facts about the request, or the refusal.
  func judge(
    receipt: String, secret: Secret, for app: AppProfile, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> Result<ProofNotes, ProofRefusalError> {
    guard let before = try proofs.found(receipt, in: set) else {
      hashes.matchNothing(secret)
      return .failure(ProofRefusalError(.unknownReceipt))
    }
    var proof = try current(before, in: set)
    if let time = rules.apps[before.app]?.receiptsValidFrom {
      _ = proof.apply(.withdrawn(issuedBefore: time), at: set.now, under: rules.proof)
    }
    let event = AppProofEvent.secretReturned(matches: hashes.matches(secret, before), app: app.id)
    let actions = proof.apply(event, at: set.now, under: rules.proof)
    if proof != before { try proofs.put(proof, in: &set) }
    try perform(actions, on: proof, cause: cause, in: &set)
    for case .refuse(let refusal) in actions { return .failure(ProofRefusalError(refusal)) }
    let entry = TimelineEntry(at: set.now, kind: .proofAccepted, reason: nil, detail: "push")
    return .success(
      ProofNotes(entries: proof.timeline.entries.filter(\.kind.tellsOfPush) + [entry], device: before.token))
  }

  /// Reason that the push of a receipt was not delivered, for an app that requests it.
  func pushFailure(
    of receipt: String?, app: AppProfile, in set: WorkingSet
  ) throws(StoreError) -> VerificationFailure? {
    guard let receipt, let found = try proofs.found(receipt, in: set), found.app == app.id else { return nil }
    let proof = try current(found, in: set)
    return proof.state == .undelivered ? proof.failure : nil
  }

  /// Timeline entries about the push of a receipt, for a verification that started without it.
  func pushEntries(
    of receipt: String?, app: AppProfile, in set: WorkingSet
  ) throws(StoreError) -> [TimelineEntry] {
    guard let receipt, let proof = try proofs.found(receipt, in: set), proof.app == app.id else { return [] }
    return proof.timeline.entries.filter(\.kind.tellsOfPush)
  }

  /// A proof with the revocation of its device's receipts, which may not have come to its record yet. Its
  /// ``revokedTokens`` are loaded.
  func current(_ proof: AppProof, in set: WorkingSet) throws(StoreError) -> AppProof {
    var proof = proof
    for token in try revokedTokens.found(proof.token, in: set) where token.revokes(proof) {
      _ = proof.apply(.tokenUnregistered, at: set.now, under: rules.proof)
    }
    return proof
  }

  // MARK: Actions

  func perform(
    _ actions: [AppProofAction], on proof: AppProof, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    for action in actions {
      switch action {
      case .push, .admit, .refuse: break
      case .announceVerified:
        count(.push, "verified", in: &set)
        let event = AppVerified(app: proof.app, method: .push, verifiedAt: set.now, receipt: proof.receipt)
        try announce(event, "verified", of: proof, cause: cause, in: &set)
      case .announceUnverified(let failure):
        let event = AppUnverified(
          receipt: proof.receipt, app: proof.app, failedAt: set.now,
          failure: .init(code: failure.code, detail: failure.detail))
        try announce(event, "unverified", of: proof, cause: cause, in: &set)
      case .rememberRefusal(let failure):
        try refusedTokens.remember(
          failure, of: proof.tokenHash, proof.environment, until: set.now + rules.proof.refusedTokenMemory, in: &set)
      case .forgetRefusal: try refusedTokens.forget(proof.token, in: &set)
      case .revokeAllOfToken: try revokeOthers(of: proof, in: &set)
      }
    }
  }

  private func announce(
    _ event: some Event, _ name: String, of proof: AppProof, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    try set.send(
      .event(event, id: "\(proof.receipt).\(name)", correlationID: proof.receipt, cause: cause, at: set.now))
  }
}

/// A ``ProofRefusal`` where an error is needed.
struct ProofRefusalError: Error {
  let refusal: ProofRefusal

  init(_ refusal: ProofRefusal) {
    self.refusal = refusal
  }
}

extension TimelineEntry.Kind {
  /// Whether it concerns the push of a receipt.
  fileprivate var tellsOfPush: Bool {
    switch self {
    case .pushQueued, .pushAccepted, .pushRefused, .pushExpired, .pushUnknown: true
    default: false
    }
  }
}

extension OperationStatus {
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
