import CountersignMessages
import CountersignTelemetry
import SQLite

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
