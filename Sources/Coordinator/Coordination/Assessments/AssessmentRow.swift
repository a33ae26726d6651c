import CountersignTelemetry
import SQLite

/// An assessment as a row of its table.
enum AssessmentRow {
  static let columns = """
    id, message_id, token_hash, verification_id, command, created_at, expires_at, state, version
    """

  static func read(_ row: Row) throws(DatabaseError) -> Stored<Assessment> {
    let assessment = Assessment(
      id: row.text(0), messageID: row.text(1), tokenHash: row.blob(2), verificationID: row.optionalText(3),
      command: try StoredJSON.read(row.text(4)), createdAt: row.time(5), expiresAt: row.time(6),
      state: try row.word(7, Assessment.State.self))
    return Stored(content: assessment, version: row.int(8))
  }

  static func insert(_ assessment: Assessment, in session: Session) throws(DatabaseError) {
    try session.execute(
      """
      INSERT INTO assessment (id, version, state, due_at, message_id, token_hash, verification_id, command, created_at,
        expires_at)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(assessment.id), .text(assessment.state.rawValue), .integer(assessment.expiresAt.milliseconds),
        .text(assessment.messageID), .blob(assessment.tokenHash), Value(assessment.verificationID),
        .text(try StoredJSON.text(assessment.command)), .integer(assessment.createdAt.milliseconds),
        .integer(assessment.expiresAt.milliseconds),
      ])
  }

  /// - Returns: whether the row still had this version.
  static func update(
    _ assessment: Assessment, dueAt: UnixTime, from version: Int, in session: Session
  ) throws(DatabaseError) -> Bool {
    try session.execute(
      """
      UPDATE assessment SET version = version + 1, state = ?, due_at = ?, command = ? WHERE id = ? AND version = ?
      """,
      [
        .text(assessment.state.rawValue), .integer(dueAt.milliseconds),
        .text(try StoredJSON.text(assessment.command)), .text(assessment.id), Value(version),
      ]) == 1
  }
}
