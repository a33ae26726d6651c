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
