import CountersignTelemetry
import SQLite

/// Statements of the memory, inside a transaction.
enum PushMemoryStatements {
  static func environment(_ token: [UInt8], _ session: Session) throws(DatabaseError) -> DeviceEnvironment? {
    let word = try session.first("SELECT environment FROM environment WHERE token = ?", [.blob(token)]) { row in
      row.text(0)
    }
    return word.flatMap(DeviceEnvironment.init(rawValue:))
  }

  static func remember(
    _ environment: DeviceEnvironment, _ token: [UInt8], _ now: UnixTime, _ session: Session
  ) throws(DatabaseError) {
    try session.execute(
      """
      INSERT INTO environment (token, environment, written_at) VALUES (?, ?, ?)
      ON CONFLICT (token) DO UPDATE SET environment = excluded.environment, written_at = excluded.written_at
      """,
      [.blob(token), .text(environment.rawValue), .integer(now.milliseconds)])
  }

  static func begin(
    _ token: [UInt8], _ jobID: String, _ now: UnixTime, _ session: Session
  ) throws(DatabaseError) -> AssessmentStart {
    let isFresh =
      try session.execute(
        "INSERT INTO assessment (token, job_id, written_at) VALUES (?, ?, ?) ON CONFLICT (token) DO NOTHING",
        [.blob(token), .text(jobID), .integer(now.milliseconds)]) == 1
    if isFresh { return .fresh }
    let known = try session.first("SELECT job_id, verdict FROM assessment WHERE token = ?", [.blob(token)]) { row in
      (owner: row.text(0), verdict: row.blob(1))
    }
    guard let known, known.owner == jobID else { return .spent }
    return AssessmentVerdict(json: known.verdict).map(AssessmentStart.assessed) ?? .uncertain
  }

  static func record(
    _ verdict: [UInt8], _ token: [UInt8], _ jobID: String, _ now: UnixTime, _ session: Session
  ) throws(DatabaseError) {
    try session.execute(
      "UPDATE assessment SET verdict = ?, written_at = ? WHERE token = ? AND job_id = ?",
      [.blob(verdict), .integer(now.milliseconds), .blob(token), .text(jobID)])
  }

  static func release(_ token: [UInt8], _ jobID: String, _ session: Session) throws(DatabaseError) {
    try session.execute(
      "DELETE FROM assessment WHERE token = ? AND job_id = ? AND verdict IS NULL", [.blob(token), .text(jobID)])
  }

  static func verdict(
    _ token: [UInt8], _ jobID: String, _ session: Session
  ) throws(DatabaseError) -> AssessmentVerdict? {
    let json = try session.first(
      "SELECT verdict FROM assessment WHERE token = ? AND job_id = ?", [.blob(token), .text(jobID)]
    ) { row in row.blob(0) }
    return json.flatMap(AssessmentVerdict.init(json:))
  }

  /// Removes rows among the oldest ones: an old row that was written lately stays, and is looked at again the next
  /// time.
  static func purge(_ table: StaticString, before time: UnixTime, _ session: Session) throws(DatabaseError) {
    try session.execute(
      "DELETE FROM \(table) WHERE id IN (SELECT id FROM \(table) ORDER BY id LIMIT ?) AND written_at < ?",
      [.integer(PushMemory.purgeLimit), .integer(time.milliseconds)])
  }
}

/// Tables of the memory's file.
enum PushMemorySchema {
  // `id` grows with time, so the oldest rows are found without an index.
  static let migrations = [
    Migration(
      version: 1,
      sql: """
        CREATE TABLE environment (
          id INTEGER PRIMARY KEY,
          token BLOB NOT NULL UNIQUE,
          environment TEXT NOT NULL,
          written_at INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE assessment (
          id INTEGER PRIMARY KEY,
          token BLOB NOT NULL UNIQUE,
          job_id TEXT NOT NULL,
          verdict BLOB,
          written_at INTEGER NOT NULL
        ) STRICT;
        """)
  ]
}
