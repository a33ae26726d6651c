import CountersignMessages
import CountersignTelemetry
import SQLite

/// A proof as a row of its table.
enum AppProofRow {
  static let columns = """
    receipt, app, token_hash, environment, secret, created_at, state, expires_at, ended_at, uses, push, failure_code, \
    failure_detail, timeline, version, earlier_token_hash
    """

  static func read(_ row: Row) throws(DatabaseError) -> Stored<AppProof> {
    guard let secret = SecretAtRest(blob: row.blob(4)) else {
      throw DatabaseError(.content, "a row of the table app_proof cannot be read")
    }
    let proof = AppProof(
      receipt: row.text(0), app: row.text(1), tokenHash: row.blob(2),
      earlierTokenHash: row.isNull(15) ? nil : row.blob(15),
      environment: try row.word(3, PushEnvironment.self), secret: secret, createdAt: row.time(5),
      state: try row.word(6, AppProofState.self), expiresAt: row.time(7), endedAt: row.optionalTime(8),
      uses: row.int(9), push: try row.word(10, PhoneVerification.MessageProgress.self), failure: row.failure(11),
      timeline: Timeline(text: row.text(13)))
    return Stored(content: proof, version: row.int(14))
  }

  static func insert(_ proof: AppProof, dueAt: UnixTime, in session: Session) throws(DatabaseError) {
    try session.execute(
      """
      INSERT INTO app_proof (receipt, version, state, due_at, app, token_hash, environment, secret, created_at, expires_at,
        ended_at, uses, push, failure_code, failure_detail, timeline, earlier_token_hash)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(proof.receipt), .text(proof.state.rawValue), .integer(dueAt.milliseconds), .text(proof.app),
        .blob(proof.tokenHash), .text(proof.environment.rawValue), .blob(proof.secret.blob),
        .integer(proof.createdAt.milliseconds), .integer(proof.expiresAt.milliseconds),
        Value(proof.endedAt?.milliseconds), Value(proof.uses), .text(proof.push.rawValue), Value(proof.failure?.code),
        Value(proof.failure?.detail), .text(proof.timeline.text),
        proof.earlierTokenHash.map { .blob($0) } ?? .null,
      ])
  }

  /// - Returns: whether the row still had this version.
  static func update(
    _ proof: AppProof, dueAt: UnixTime, from version: Int, in session: Session
  ) throws(DatabaseError) -> Bool {
    try session.execute(
      """
      UPDATE app_proof SET version = version + 1, state = ?, due_at = ?, expires_at = ?, ended_at = ?, uses = ?, push = ?,
        failure_code = ?, failure_detail = ?, timeline = ?
      WHERE receipt = ? AND version = ?
      """,
      [
        .text(proof.state.rawValue), .integer(dueAt.milliseconds), .integer(proof.expiresAt.milliseconds),
        Value(proof.endedAt?.milliseconds), Value(proof.uses), .text(proof.push.rawValue), Value(proof.failure?.code),
        Value(proof.failure?.detail), .text(proof.timeline.text), .text(proof.receipt), Value(version),
      ]) == 1
  }
}

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
