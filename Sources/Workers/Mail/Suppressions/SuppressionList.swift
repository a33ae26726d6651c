public import CountersignTelemetry
public import JobEngine
import SQLite

/// The addresses that get no mail: an SQLite file that the mail-workers of a host share with the command line.
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

  /// Opens the list, and creates its file if necessary.
  ///
  /// - Throws: `.storeUnavailable`, with a problem that the operator has to fix.
  public static func open(path: String) async throws(WorkerError) -> SuppressionList {
    do {
      return SuppressionList(database: try await Database.open(path: path, migrations: migrations))
    } catch {
      throw WorkerError(.storeUnavailable, "suppressions.path: \(error)")
    }
  }

  /// The entry of an address, or `nil`.
  public func entry(for address: MailAddress) async throws(WorkerError) -> Suppression? {
    let key = address.key
    return try await read { session throws(DatabaseError) in
      try session.first("SELECT \(Self.columns) FROM suppression WHERE address = ?", [.text(key)], Self.suppression)
    }
  }

  /// Adds an entry, unless the address has one.
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
  /// - Parameter limit: maximum number of entries.
  public func entries(limit: Int) async throws(WorkerError) -> [Suppression] {
    try await read { session throws(DatabaseError) in
      try session.query(
        "SELECT \(Self.columns) FROM suppression ORDER BY since DESC LIMIT ?", [Value(limit)], Self.suppression)
    }
  }

  /// Removes an address from the list.
  ///
  /// - Returns: whether it was on the list.
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

/// An address that gets no mail any longer, because a server reported it as nonexistent.
public struct Suppression: Sendable, Hashable {
  /// Address in lower case.
  public let address: String
  public let since: UnixTime
  /// Reason code of this system: `RECIPIENT_GONE`.
  public let reason: String
  /// Codes of the server: `550 5.1.1`.
  public let providerCode: String?
  /// ID of the job whose mail was refused.
  public let jobID: String

  /// - Parameters:
  ///   - address: address in lower case.
  ///   - since: time of the refusal.
  ///   - reason: reason code of this system.
  ///   - providerCode: codes of the server.
  ///   - jobID: ID of the job whose mail was refused.
  public init(address: String, since: UnixTime, reason: String, providerCode: String?, jobID: String) {
    self.address = address
    self.since = since
    self.reason = reason
    self.providerCode = providerCode
    self.jobID = jobID
  }
}
