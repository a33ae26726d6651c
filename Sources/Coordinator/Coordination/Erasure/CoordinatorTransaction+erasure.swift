import SQLite

// Operators erase a number rarely, so the tables are scanned: an index for it would cost a page for each start.
extension CoordinatorTransaction {
  /// - Returns: the number of deleted replies.
  func forgetReplies(about number: String) throws(DatabaseError) -> Int {
    inbox = [:]
    return try session.execute(
      "DELETE FROM inbox WHERE instr(reply, CAST(? AS BLOB)) > 0", [.text(Self.quoted(number))])
  }

  /// Only a pending assessment holds a number.
  func forgetAssessments(about number: String) throws(DatabaseError) -> Int {
    try session.execute(
      "DELETE FROM assessment WHERE instr(command, ?) > 0", [.text(Self.quoted(number))])
  }

  func forget(_ subjects: [LimitSubject]) throws(DatabaseError) -> Int {
    var count = 0
    for subject in subjects {
      forgetUsage(of: subject)
      for key in [subject.key] + (subject.earlierKey.map { [$0] } ?? []) {
        count += try session.execute("DELETE FROM usage WHERE subject = ?", [.text(key)])
      }
    }
    return count
  }

  /// The number as it appears in JSON: not as part of a longer number.
  private static func quoted(_ number: String) -> String { "\"\(number)\"" }
}
