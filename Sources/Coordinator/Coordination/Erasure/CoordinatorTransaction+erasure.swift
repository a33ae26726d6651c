import SQLite

// Operators erase a number now and then, so the tables are searched from end to end: an index for it would cost a page for each start.
extension CoordinatorTransaction {
  /// - Returns: how many were forgotten.
  func forgetReplies(about number: String) throws(DatabaseError) -> Int {
    inbox = [:]
    return try session.execute(
      "DELETE FROM inbox WHERE instr(reply, CAST(? AS BLOB)) > 0", [.text(Self.quoted(number))])
  }

  /// Only one that waits holds a number.
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

  /// As it stands in JSON: not as a part of a longer number.
  private static func quoted(_ number: String) -> String { "\"\(number)\"" }
}
