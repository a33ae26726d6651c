import CountersignMessages
import CountersignTelemetry
import SQLite

// These read and write directly: unlike verifications, a proof is touched once a batch.
extension CoordinatorTransaction {
  func appProof(_ receipt: String) throws(DatabaseError) -> Stored<AppProof>? {
    guard !receipt.isEmpty, receipt.utf8.count <= VerificationID.maxLength else { return nil }
    return try session.first(
      "SELECT \(AppProofRow.columns) FROM app_proof WHERE receipt = ?", [.text(receipt)], AppProofRow.read)
  }

  func add(_ proof: AppProof) throws(DatabaseError) {
    try AppProofRow.insert(proof, dueAt: dueAt(proof), in: session)
  }

  func store(_ stored: Stored<AppProof>) throws(DatabaseError) {
    let proof = stored.content
    guard try AppProofRow.update(proof, dueAt: dueAt(proof), from: stored.version, in: session) else {
      throw DatabaseError(.busy, "another process changed the same proof")
    }
  }

  /// Time at which the maintenance has to process a proof.
  private func dueAt(_ proof: AppProof) -> UnixTime {
    proof.state.isLive ? proof.expiresAt : (proof.endedAt ?? now) + retention
  }

  /// Live receipts of a device token, ordered by receipt.
  /// - Parameters:
  ///   - receipt: the last receipt of the previous page; empty at first.
  ///   - limit: maximum number of receipts.
  func liveProofs(
    ofToken hash: [UInt8], behind receipt: String, limit: Int
  ) throws(DatabaseError) -> [Stored<AppProof>] {
    try session.query(
      """
      SELECT \(AppProofRow.columns) FROM app_proof
      WHERE token_hash = ? AND receipt > ? AND state IN (\(Self.liveStates)) ORDER BY receipt LIMIT ?
      """,
      [.blob(hash), .text(receipt), Value(limit)], AppProofRow.read)
  }

  /// The words of states are ours, so they need no escape.
  private static let liveStates = AppProofState.allCases.filter(\.isLive).map { "'\($0.rawValue)'" }
    .joined(separator: ", ")

  func delete(proof receipt: String) throws(DatabaseError) {
    try session.execute("DELETE FROM app_proof WHERE receipt = ?", [.text(receipt)])
  }

  // MARK: Refused tokens

  /// Reason that Apple recently refused pushes to a device token, if it did.
  func refusal(
    ofToken token: TokenHash, _ environment: PushEnvironment
  ) throws(DatabaseError) -> VerificationFailure? {
    for hash in token.all {
      if let failure = try refusal(ofHash: hash, environment) { return failure }
    }
    return nil
  }

  private func refusal(
    ofHash hash: [UInt8], _ environment: PushEnvironment
  ) throws(DatabaseError) -> VerificationFailure? {
    try session.first(
      "SELECT code, detail FROM refused_token WHERE token_hash = ? AND environment = ? AND expires_at > ?",
      [.blob(hash), .text(environment.rawValue), .integer(now.milliseconds)]
    ) { row throws(DatabaseError) in VerificationFailure(code: row.text(0), detail: row.optionalText(1)) }
  }

  func remember(
    _ refusal: VerificationFailure, ofToken hash: [UInt8], _ environment: PushEnvironment, until end: UnixTime
  ) throws(DatabaseError) {
    try session.execute(
      """
      INSERT INTO refused_token (token_hash, environment, code, detail, expires_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (token_hash, environment)
      DO UPDATE SET code = excluded.code, detail = excluded.detail, expires_at = excluded.expires_at
      """,
      [
        .blob(hash), .text(environment.rawValue), .text(refusal.code), Value(refusal.detail),
        .integer(end.milliseconds),
      ])
  }

  func forgetRefusals(ofToken hash: [UInt8]) throws(DatabaseError) {
    try session.execute("DELETE FROM refused_token WHERE token_hash = ?", [.blob(hash)])
  }

  /// - Returns: the number of deleted refusals.
  func deleteOldRefusals(limit: Int) throws(DatabaseError) -> Int {
    try session.execute(
      """
      DELETE FROM refused_token WHERE (token_hash, environment) IN (
        SELECT token_hash, environment FROM refused_token WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
      """,
      [.integer(now.milliseconds), Value(limit)])
  }
}
