import CommandEngine
import CountersignMessages
import CountersignTelemetry

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

  func addFirstKeys(of order: AppOrder, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try refusedTokens.addKeys(of: order.proof.token, order.proof.environment, to: &keys)
    limits.addKeys(of: try checks(of: order), to: &keys, at: now)
  }

  private func checks(of order: AppOrder) throws(StoreError) -> [RateLimits.Check] {
    try limits.checks(ofReceiptFor: order.proof.token, app: order.proof.app, from: order.address)
  }

  /// Its push is held until the reply is out.
  func issue(
    _ order: AppOrder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    var proof = order.proof
    proof.isOfKnownAddress = order.address != nil
    if let failure = try refusedTokens.refusal(of: proof.token, proof.environment, in: set) {
      metrics.countProof(.push, "known_refusal", in: &set)
      return CommandAnswer(APIError(refusedToken: failure))
    }
    if let refusal = limits.admit(try checks(of: order), in: &set) {
      metrics.count(refusal, in: &set)
      return CommandAnswer(APIError(refusal))
    }
    let actions = proof.apply(.issued, at: set.now, under: rules.proof)
    try proofs.put(proof, isNew: true, in: &set)
    if actions.contains(.push) {
      let job = OutgoingMessage.job(
        PushVerifyJob.type, id: JobName(proof.receipt, .push).text, correlationID: proof.receipt, cause: envelope,
        deadline: set.now + rules.proof.pushDeadline, body: order.job, at: set.now)
      try set.send(job, afterReplyTo: envelope.identity)
    }
    metrics.countProof(.push, "issued", in: &set)
    let timeout = Int(max(1, rules.proof.suggestedTimeout.components.seconds))
    return try CommandAnswer(AppVerifying(receipt: proof.receipt, suggestedTimeout: timeout))
  }

  // MARK: Secrets

  /// Adds what the device of a receipt leads to. It becomes that of the start once the proof is accepted.
  func addMoreKeys(
    ofReceipt receipt: String, to keys: inout StoreKeys, from set: WorkingSet
  ) throws(StoreError) {
    guard let token = try proofs.found(receipt, in: set)?.token else { return }
    try revokedTokens.addKeys(of: token, to: &keys)
    limits.addKeys(of: try limits.checks(ofDevice: token), to: &keys, at: set.now)
  }

  func judge(
    receipt: String, secret: Secret, for app: AppProfile, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> Result<ProofNotes, ProofRefusal> {
    guard let before = try proofs.found(receipt, in: set) else {
      hashes.matchNothing(secret)
      return .failure(.unknownReceipt)
    }
    var proof = try current(before, in: set)
    if let time = rules.profile(before.app)?.receiptsValidFrom {
      _ = proof.apply(.withdrawn(issuedBefore: time), at: set.now, under: rules.proof)
    }
    let event = AppProofEvent.secretReturned(matches: hashes.matches(secret, before), app: app.id)
    let actions = proof.apply(event, at: set.now, under: rules.proof)
    if proof != before { try proofs.put(proof, in: &set) }
    try perform(actions, on: proof, cause: cause, in: &set)
    for case .refuse(let refusal) in actions { return .failure(refusal) }
    let entry = TimelineEntry(at: set.now, kind: .proofAccepted, reason: nil, detail: "push")
    return .success(
      ProofNotes(entries: proof.timeline.entries.filter(\.kind.tellsOfPush) + [entry], device: before.token))
  }

  func pushFailure(
    of receipt: String?, app: AppProfile, in set: WorkingSet
  ) throws(StoreError) -> VerificationFailure? {
    guard let receipt, let found = try proofs.found(receipt, in: set), found.app == app.id else { return nil }
    let proof = try current(found, in: set)
    return proof.state == .undelivered ? proof.failure : nil
  }

  func pushEntries(
    of receipt: String?, app: AppProfile, in set: WorkingSet
  ) throws(StoreError) -> [TimelineEntry] {
    guard let receipt, let proof = try proofs.found(receipt, in: set), proof.app == app.id else { return [] }
    return proof.timeline.entries.filter(\.kind.tellsOfPush)
  }

  /// A proof with the revocation of its device's receipts, which may not have come to its record yet.
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
        metrics.countProof(.push, "verified", in: &set)
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
        // Made-up tokens use up what their network may, and nothing of what everybody needs.
        if proof.isOfKnownAddress {
          try limits.uncountReceipt(of: proof.app, issuedAt: proof.createdAt, in: &set)
        }
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

// MARK: Reports

extension AppProofService {
  /// A report on a deleted receipt changes nothing.
  func handle(
    _ report: PushReport, on receipt: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let found = try proofs.found(receipt, in: set) else { return }
    try require(report, on: found, in: set)
    let before = try current(found, in: set)
    var proof = before
    let actions = proof.apply(.pushFinished(report), at: set.now, under: rules.proof)
    guard proof != before else { return }
    try proofs.put(proof, in: &set)
    metrics.countProof(.push, "push_\(report.report.outcome.rawValue)", in: &set)
    try perform(actions, on: proof, cause: cause, in: &set)
  }

  /// Has all that a report may change loaded at once: one comes for each receipt.
  private func require(_ report: PushReport, on proof: AppProof, in set: WorkingSet) throws(StoreError) {
    var keys = StoreKeys()
    try revokedTokens.addKeys(of: proof.token, to: &keys)
    switch report.report.outcome {
    case .accepted: try refusedTokens.addKeys(ofAll: proof.token, to: &keys)
    case .refused: try refusedTokens.addKeys(of: TokenHash(current: proof.tokenHash), proof.environment, to: &keys)
    case .expired, .unknown: break
    }
    try set.require(keys)
  }

  // MARK: Devices that are gone

  /// Revokes all receipts of a proof's device, however many: none may be accepted any longer. A device that requests at
  /// its limit has two thousand, so those behind the first page are marked, and revoked by the maintenance.
  func revokeOthers(of proof: AppProof, in set: inout WorkingSet) throws(StoreError) {
    let pages = try set.each(proof.token.all) { hash throws(StoreError) in try proofs.issued(toToken: hash, in: set) }
    for (hash, page) in zip(proof.token.all, pages) {
      // Revoked receipts leave the group, so the next page begins at its beginning.
      let token = RevokedToken(
        tokenHash: hash, at: set.now, reported: proof.receipt, behind: page.end == nil ? nil : "")
      try revoke(page.proofs, token, in: &set)
      try revokedTokens.put(token, in: &set)
    }
  }

  private func revoke(_ proofs: [AppProof], _ token: RevokedToken, in set: inout WorkingSet) throws(StoreError) {
    for var proof in proofs where token.revokes(proof) {
      _ = proof.apply(.tokenUnregistered, at: set.now, under: rules.proof)
      try self.proofs.put(proof, in: &set)
    }
  }

  func goOn(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    var token = try RevokedToken(record)
    if let behind = token.behind {
      let page = try proofs.issued(toToken: token.tokenHash, behind: behind, in: set)
      try revoke(page.proofs, token, in: &set)
      token.behind = page.end
    }
    try revokedTokens.put(token, in: &set)
  }

  // MARK: Ends

  func end(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    var proof = try AppProof(record)
    guard proof.state.isLive else { return try set.remove(record.id) }
    _ = proof.apply(.deadlinePassed, at: set.now, under: rules.proof)
    try proofs.put(proof, in: &set)
  }
}

extension TimelineEntry.Kind {
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
