import CountersignTelemetry
import JobEngine
import SQLite

/// Addresses that get no mail, in an SQLite file that the mail-workers of a host share with the command line.
struct SQLiteSuppressions: SuppressionStore {
  private let database: Database

  private static let migrations = [
    Migration(
      version: 1,
      sql: """
        CREATE TABLE suppression (
          address TEXT PRIMARY KEY,
          since INTEGER NOT NULL,
          reason TEXT NOT NULL,
          provider_code TEXT,
          job_id TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """)
  ]

  static func open(path: String) async throws(WorkerError) -> SQLiteSuppressions {
    do {
      return SQLiteSuppressions(
        database: try await Database.open(path: path, kind: .suppressions, migrations: migrations))
    } catch {
      throw WorkerError(.storeUnavailable, "suppressions.path: \(error)")
    }
  }

  func entry(of address: String) async throws(WorkerError) -> Suppression? {
    try await read { session throws(DatabaseError) in
      try session.first("SELECT \(Self.columns) FROM suppression WHERE address = ?", [.text(address)], Self.suppression)
    }
  }

  func add(_ entry: Suppression) async throws(WorkerError) {
    try await write { session throws(DatabaseError) in
      _ = try session.execute(
        "INSERT INTO suppression (\(Self.columns)) VALUES (?, ?, ?, ?, ?) ON CONFLICT (address) DO NOTHING",
        [
          .text(entry.address), Value(entry.since.milliseconds), .text(entry.reason), Value(entry.providerCode),
          .text(entry.jobID),
        ])
    }
  }

  func entries(limit: Int) async throws(WorkerError) -> [Suppression] {
    try await read { session throws(DatabaseError) in
      try session.query(
        "SELECT \(Self.columns) FROM suppression ORDER BY since DESC LIMIT ?", [Value(limit)], Self.suppression)
    }
  }

  func remove(_ address: String) async throws(WorkerError) -> Bool {
    try await write { session throws(DatabaseError) in
      try session.execute("DELETE FROM suppression WHERE address = ?", [.text(address)]) > 0
    }
  }

  func close() async { await database.close() }

  private static let columns = "address, since, reason, provider_code, job_id"

  private static let suppression: @Sendable (Row) -> Suppression = { row in
    Suppression(
      address: row.text(0), since: UnixTime(milliseconds: Int64(row.int(1))), reason: row.text(2),
      providerCode: row.optionalText(3), jobID: row.text(4))
  }

  private func read<T: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> T
  ) async throws(WorkerError) -> T {
    do {
      return try await database.read(body)
    } catch {
      throw .suppressions(cannotBe: "read", error)
    }
  }

  private func write<T: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> T
  ) async throws(WorkerError) -> T {
    do {
      return try await database.write(body)
    } catch {
      throw .suppressions(cannotBe: "written", error)
    }
  }
}
