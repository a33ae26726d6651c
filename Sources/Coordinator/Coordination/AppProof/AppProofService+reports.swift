import CommandEngine
import CountersignMessages
import CountersignTelemetry

// Reports on pushes, and what the maintenance does with receipts.
extension AppProofService {
  // MARK: Reports

  /// Adds what a report on the push of a receipt changes.
  func addMoreKeys(
    of report: PushReport, on receipt: String, to keys: inout StoreKeys, from set: WorkingSet
  ) throws(StoreError) {
    guard let proof = try proofs.legible(receipt, in: set) else { return }
    try revokedTokens.addKeys(of: proof.token, to: &keys)
    switch report.report.outcome {
    case .accepted: try refusedTokens.addKeys(ofAll: proof.token, to: &keys)
    case .refused:
      try refusedTokens.addKeys(of: TokenHash(proof.tokenHash), proof.environment, to: &keys)
      guard report.report.reason?.code == PushFailure.unregistered else { return }
      for hash in proof.token.all { try proofs.addKeys(ofToken: hash, to: &keys) }
    case .expired, .unknown: break
    }
  }

  /// Applies a worker's report to its receipt. A report on a deleted receipt changes nothing.
  func handle(
    _ report: PushReport, on receipt: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let found = try proofs.found(receipt, in: set) else { return }
    let before = try current(found, in: set)
    var proof = before
    let actions = proof.apply(.pushFinished(report), at: set.now, under: rules.proof)
    guard proof != before else { return }
    try proofs.put(proof, in: &set)
    count(.push, "push_\(report.report.outcome.rawValue)", in: &set)
    try perform(actions, on: proof, cause: cause, in: &set)
  }

  // MARK: Devices that are gone

  /// Revokes all receipts of a proof's device, however many: none may be accepted any longer. A device that requests at
  /// its limit has two thousand, so those behind the first page are marked, and revoked by the maintenance.
  func revokeOthers(of proof: AppProof, in set: inout WorkingSet) throws(StoreError) {
    for hash in proof.token.all {
      let page = try proofs.issued(toToken: hash, in: set)
      // Revoked receipts leave the group, so the next page begins at its beginning.
      let token = RevokedToken(
        tokenHash: hash, at: set.now, reported: proof.receipt, behind: page.end == nil ? nil : "")
      try revoke(page, token, in: &set)
      try revokedTokens.put(token, in: &set)
    }
  }

  private func revoke(_ page: ProofPage, _ token: RevokedToken, in set: inout WorkingSet) throws(StoreError) {
    for var proof in page.proofs where token.revokes(proof) {
      _ = proof.apply(.tokenUnregistered, at: set.now, under: rules.proof)
      try proofs.put(proof, in: &set)
    }
  }

  /// Adds the next page of the receipts of a device that is gone.
  func addKeys(ofRevoked record: Record, to keys: inout StoreKeys) throws(StoreError) {
    let token = try RevokedTokenRecords.read(record)
    if let behind = token.behind { try proofs.addKeys(ofToken: token.tokenHash, behind: behind, to: &keys) }
  }

  /// Revokes the next page of the receipts of a device that is gone.
  func goOn(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    var token = try RevokedTokenRecords.read(record)
    if token.behind != nil {
      let page = try proofs.issued(toToken: token.tokenHash, in: set)
      try revoke(page, token, in: &set)
      token.behind = page.end
    }
    try revokedTokens.put(token, in: &set)
  }

  // MARK: Ends

  /// Ends a proof whose deadline has passed, and deletes one past its retention.
  func end(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    var proof = try AppProof(record)
    guard proof.state.isLive else { return try set.remove(record.id) }
    _ = proof.apply(.deadlinePassed, at: set.now, under: rules.proof)
    try proofs.put(proof, in: &set)
  }
}

/// A worker's report on the push of a receipt.
struct PushResult: Report {
  let receipt: String
  let report: PushReport
  let service: AppProofService

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    service.proofs.addKeys(ofReceipt: receipt, to: &keys)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try service.addMoreKeys(of: report, on: receipt, to: &keys, from: set)
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    try service.handle(report, on: receipt, cause: cause, in: &set)
  }
}
