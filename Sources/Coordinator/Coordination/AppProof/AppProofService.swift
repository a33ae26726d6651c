import CountersignMessages
import CountersignTelemetry
import SQLite

/// Handles receipts of apps: issues them, applies reports on pushes, judges returned secrets.
struct AppProofService: Sendable {
  private let rules: CoordinatorRules
  private let hashes: KeyedHashes
  private let limits: RateLimits

  init(_ rules: CoordinatorRules, hashes: KeyedHashes, limits: RateLimits) {
    self.rules = rules
    self.hashes = hashes
    self.limits = limits
  }

  // MARK: Receipts

  /// Issues a receipt. Its push is held until the reply is out.
  func issue(
    _ order: AppOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let now = transaction.now
    var proof = order.proof
    if let failure = try transaction.refusal(ofToken: proof.token, proof.environment) {
      transaction.counts.proofs.append(ProofCount(.push, "known_refusal"))
      return CommandAnswer(APIError(refusedToken: failure))
    }
    let refusal = try limits.admitReceipt(
      ofToken: proof.token, app: proof.app, from: order.address, at: now, in: transaction)
    if let refusal {
      transaction.counts.refusals.append(refusal.scope)
      return CommandAnswer(APIError(refusal))
    }
    let actions = proof.apply(.issued, at: now, under: rules.proof)
    try transaction.add(proof)
    if actions.contains(.push) {
      let job = OutgoingMessage.job(
        PushVerifyJob.type, JobName(proof.receipt, .push), correlationID: proof.receipt,
        causationID: request.envelope.messageID, trace: request.envelope.trace,
        deadline: now + rules.proof.pushDeadline, body: order.job, at: now)
      try transaction.hold([job], untilReplyTo: request.envelope.identity.key)
    }
    transaction.counts.proofs.append(ProofCount(.push, "issued"))
    let timeout = Int(max(1, rules.proof.suggestedTimeout.components.seconds))
    return try CommandAnswer(AppVerifying(receipt: proof.receipt, suggestedTimeout: timeout))
  }

  // MARK: Secrets

  /// Judges a receipt and its secret.
  /// - Returns: the established facts about the request, or the refusal.
  func judge(
    receipt: String, secret: Secret, for app: AppProfile, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Result<ProofNotes, ProofRefusalError> {
    guard var stored = try transaction.appProof(receipt) else {
      hashes.matchNothing(secret)
      return .failure(ProofRefusalError(.unknownReceipt))
    }
    let before = stored.content
    if let time = rules.apps[before.app]?.receiptsValidFrom {
      _ = stored.content.apply(.withdrawn(issuedBefore: time), at: transaction.now, under: rules.proof)
    }
    let event = AppProofEvent.secretReturned(matches: hashes.matches(secret, before), app: app.id)
    let actions = stored.content.apply(event, at: transaction.now, under: rules.proof)
    if stored.content != before { try transaction.store(stored) }
    try perform(actions, on: stored.content, cause: cause, in: transaction)
    for case .refuse(let refusal) in actions { return .failure(ProofRefusalError(refusal)) }
    let entry = TimelineEntry(at: transaction.now, kind: .proofAccepted, reason: nil, detail: "push")
    return .success(
      ProofNotes(
        entries: stored.content.timeline.entries.filter(\.kind.tellsOfPush) + [entry],
        device: before.token))
  }

  /// Reason that the push of a receipt was not delivered, for an app that requests it.
  func pushFailure(
    of receipt: String?, app: AppProfile, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> VerificationFailure? {
    guard let receipt, let proof = try transaction.appProof(receipt)?.content, proof.app == app.id,
      proof.state == .undelivered
    else { return nil }
    return proof.failure
  }

  /// Timeline entries about the push of a receipt, for a verification that started without it.
  func pushEntries(
    of receipt: String?, app: AppProfile, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> [TimelineEntry] {
    guard let receipt, let proof = try transaction.appProof(receipt)?.content, proof.app == app.id else { return [] }
    return proof.timeline.entries.filter(\.kind.tellsOfPush)
  }

  // MARK: Reports

  /// Applies a worker's report to its receipt. A report on a deleted receipt changes nothing.
  func handle(
    _ report: PushReport, on receipt: String, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard var stored = try transaction.appProof(receipt) else { return }
    let before = stored.content
    let actions = stored.content.apply(.pushFinished(report), at: transaction.now, under: rules.proof)
    guard stored.content != before else { return }
    try transaction.store(stored)
    transaction.counts.proofs.append(ProofCount(.push, "push_\(report.report.outcome.rawValue)"))
    try perform(actions, on: stored.content, cause: cause, in: transaction)
  }

  private func perform(
    _ actions: [AppProofAction], on proof: AppProof, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    let now = transaction.now
    for action in actions {
      switch action {
      case .push, .admit, .refuse: break
      case .announceVerified:
        transaction.counts.proofs.append(ProofCount(.push, "verified"))
        let event = AppVerified(app: proof.app, method: .push, verifiedAt: now, receipt: proof.receipt)
        try transaction.enqueue(event, id: "\(proof.receipt).verified", correlationID: proof.receipt, cause: cause)
      case .announceUnverified(let failure):
        let event = AppUnverified(
          receipt: proof.receipt, app: proof.app, failedAt: now,
          failure: .init(code: failure.code, detail: failure.detail))
        try transaction.enqueue(event, id: "\(proof.receipt).unverified", correlationID: proof.receipt, cause: cause)
      case .rememberRefusal(let failure):
        try transaction.remember(
          failure, ofToken: proof.tokenHash, proof.environment, until: now + rules.proof.refusedTokenMemory)
      case .forgetRefusal:
        for hash in proof.token.all { try transaction.forgetRefusals(ofToken: hash) }
      case .revokeAllOfToken:
        try revokeOthers(of: proof, in: transaction)
      }
    }
  }

  /// Revokes all of them, however many: none may be accepted any longer. A device that requests at its limit has two
  /// thousand.
  private func revokeOthers(
    of proof: AppProof, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    for hash in proof.token.all { try revokeOthers(of: proof, issuedTo: hash, in: transaction) }
  }

  private func revokeOthers(
    of proof: AppProof, issuedTo hash: [UInt8], in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    var page: [Stored<AppProof>] = []
    repeat {
      page = try transaction.liveProofs(
        ofToken: hash, behind: page.last?.content.receipt ?? "", limit: Self.maxProofsAtOnce)
      for var other in page where other.content.receipt != proof.receipt {
        _ = other.content.apply(.tokenUnregistered, at: transaction.now, under: rules.proof)
        try transaction.store(other)
      }
    } while page.count == Self.maxProofsAtOnce
  }

  /// Proofs loaded at once when all of a device are revoked.
  static let maxProofsAtOnce = 256
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
