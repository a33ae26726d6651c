import CountersignTelemetry
public import JobEngine
import SQLite

/// The addresses that nothing is sent to: an SQLite file that the mail-workers of a host share with the command line.
public struct SuppressionList: Sendable {
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

  /// Opens the list, and makes its file if there is none.
  ///
  /// - Throws: `.storeUnavailable`, with what an operator has to mend.
  public static func open(path: String) async throws(WorkerError) -> SuppressionList {
    do {
      return SuppressionList(database: try await Database.open(path: path, migrations: migrations))
    } catch {
      throw WorkerError(.storeUnavailable, "suppressions.path: \(error)")
    }
  }

  /// The entry of an address, if it has one.
  public func entry(for address: MailAddress) async throws(WorkerError) -> Suppression? {
    let key = address.key
    return try await read { session throws(DatabaseError) in
      try session.first("SELECT \(Self.columns) FROM suppression WHERE address = ?", [.text(key)], Self.suppression)
    }
  }

  /// Adds an entry; one that is there stays.
  public func add(_ entry: Suppression) async throws(WorkerError) {
    try await write { session throws(DatabaseError) in
      _ = try session.execute(
        "INSERT INTO suppression (\(Self.columns)) VALUES (?, ?, ?, ?, ?) ON CONFLICT (address) DO NOTHING",
        [
          .text(entry.address), Value(entry.since.milliseconds), .text(entry.reason), Value(entry.providerCode),
          .text(entry.jobID),
        ])
    }
  }

  /// The entries, the latest first.
  ///
  /// - Parameter limit: How many at most.
  public func entries(limit: Int) async throws(WorkerError) -> [Suppression] {
    try await read { session throws(DatabaseError) in
      try session.query(
        "SELECT \(Self.columns) FROM suppression ORDER BY since DESC LIMIT ?", [Value(limit)], Self.suppression)
    }
  }

  /// Takes an address off the list.
  ///
  /// - Returns: Whether it was on it.
  public func lift(_ address: MailAddress) async throws(WorkerError) -> Bool {
    let key = address.key
    return try await write { session throws(DatabaseError) in
      try session.execute("DELETE FROM suppression WHERE address = ?", [.text(key)]) > 0
    }
  }

  /// Closes the file.
  public func close() async { await database.close() }

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
      throw WorkerError(.storeUnavailable, "the suppression list cannot be read: \(error)")
    }
  }

  private func write<T: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> T
  ) async throws(WorkerError) -> T {
    do {
      return try await database.write(body)
    } catch {
      throw WorkerError(.storeUnavailable, "the suppression list cannot be written: \(error)")
    }
  }
}
