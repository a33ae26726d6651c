import CountersignMessages
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

extension CoordinatorTransaction {
  func assessment(_ id: String) throws(DatabaseError) -> Stored<Assessment>? {
    try session.first(
      "SELECT \(AssessmentRow.columns) FROM assessment WHERE id = ?", [.text(id)], AssessmentRow.read)
  }

  /// The assessment that a command waits for.
  func pendingAssessment(of message: MessageIdentity) throws(DatabaseError) -> Stored<Assessment>? {
    try session.query(
      "SELECT \(AssessmentRow.columns) FROM assessment WHERE message_id = ? AND state = ? AND verification_id IS NULL",
      [.text(message.messageID), .text(Assessment.State.pending.rawValue)], AssessmentRow.read
    ).first { $0.content.command.sender.map { $0 == message.sender } ?? true }
  }

  /// Whether the token was used before.
  func hasSeenCaptcha(_ token: TokenHash) throws(DatabaseError) -> Bool {
    for hash in token.all {
      let seen = try session.first(
        "SELECT 1 FROM assessment WHERE token_hash = ?", [.blob(hash)]
      ) { row throws(DatabaseError) in row.int(0) }
      if seen != nil { return true }
    }
    return false
  }

  func add(_ assessment: Assessment) throws(DatabaseError) {
    try AssessmentRow.insert(assessment, in: session)
  }

  func store(_ stored: Stored<Assessment>) throws(DatabaseError) {
    // A pending start still needs its caller's data; a finished one only answers for its token.
    let assessment = stored.content.state == .pending ? stored.content : stored.content.withoutCommand
    // A finished assessment is kept for a while to recognize its token.
    let dueAt = assessment.state == .pending ? assessment.expiresAt : now + retention
    guard try AssessmentRow.update(assessment, dueAt: dueAt, from: stored.version, in: session) else {
      throw DatabaseError(.busy, "another process changed the same assessment")
    }
  }

  func delete(assessment id: String) throws(DatabaseError) {
    try session.execute("DELETE FROM assessment WHERE id = ?", [.text(id)])
  }
}
