import Database
import Telemetry

/// Deletes recorded replies and counts that are too old to matter, a bounded number at a time.
final class Purger: Sendable {
  private let database: Database
  private let inboxRetention: Duration
  private let clock: any WallClock

  /// Rows of each table in one transaction.
  static let maxRows = 512

  init(database: Database, inboxRetention: Duration, clock: any WallClock) {
    self.database = database
    self.inboxRetention = inboxRetention
    self.clock = clock
  }

  /// Deletes the oldest recorded replies that are over.
  /// - Returns: whether there may be more.
  func purgeInbox() async throws(DatabaseError) -> Bool {
    let before = clock.now() - inboxRetention
    return try await database.write { session throws(DatabaseError) in
      // The lowest numbers are the oldest, so no index on the time is needed.
      try session.execute(
        """
        DELETE FROM inbox
        WHERE number IN (SELECT number FROM inbox ORDER BY number LIMIT ?) AND received_at <= ?
        """,
        [Value(Self.maxRows), .integer(before.milliseconds)]) == Self.maxRows
    }
  }

  /// Looks at the counts behind a subject and deletes those that are over. Walking over the table needs no index on a
  /// time that changes with every count.
  ///
  /// - Parameter subject: the last subject that was looked at; empty at first.
  /// - Returns: the last one now, to go on with; `nil` at the end of the table.
  func purgeUsage(after subject: String) async throws(DatabaseError) -> String? {
    let now = clock.now()
    return try await database.write { session throws(DatabaseError) in
      let subjects = try session.query(
        "SELECT subject, expires_at FROM usage WHERE subject > ? ORDER BY subject LIMIT ?",
        [.text(subject), Value(Self.maxRows)]
      ) { row throws(DatabaseError) in (subject: row.text(0), expiresAt: Int64(row.int(1))) }
      for item in subjects where item.expiresAt <= now.milliseconds {
        try session.execute("DELETE FROM usage WHERE subject = ?", [.text(item.subject)])
      }
      return subjects.count == Self.maxRows ? subjects.last?.subject : nil
    }
  }
}
