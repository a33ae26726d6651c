public import CountersignTelemetry
public import CrashMarks
import RecordStore
public import SQLite

/// The ledger in an SQLite file that all workers of a host share.
///
/// A claim is one insert and a settlement one update; a batch of them is one commit, shared with whatever else waits.
public final class SQLiteLedger: Ledger {
  private let database: Database

  private init(_ database: Database) { self.database = database }

  /// Opens the ledger, creating the file if necessary.
  /// - Parameters:
  ///   - path: the file; its directory must exist. All workers of a host name the same one.
  ///   - options: durability of a commit, and limits. With `.full` a claim survives the loss of power.
  /// - Throws: `StoreError`, whose message has a hint for the operator.
  public static func open(
    path: String, options: DatabaseOptions = DatabaseOptions()
  ) async throws(StoreError) -> SQLiteLedger {
    var options = options
    options.isShrinkable = true
    return SQLiteLedger(
      try await Database.open(
        path: path, options: options, kind: .ledger, migrations: LedgerSchema.migrations))
  }

  public var remembers: Bool { true }

  /// The marks of redelivered jobs in the same file.
  /// - Throws: `StoreError`, when the file of their owners cannot be created next to it.
  public func markStore() throws(StoreError) -> any MarkStore { try RecordMarks(RecordTable(in: database)) }

  /// Statistics of the database, for metrics.
  public var statistics: DatabaseStatistics { database.statistics }

  public func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] {
    do throws(StoreError) {
      return try await write { session throws(StoreError) in
        try LedgerStatements.write(entries, session)
      }
    } catch {
      return entries.map { _ in .failure(error) }
    }
  }

  public func job(matching match: LedgerMatch) async throws(StoreError) -> LedgerMatchedJob? {
    try await read { session throws(StoreError) in try LedgerStatements.job(match, session) }
  }

  public func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
    try await write { session throws(StoreError) in
      try LedgerStatements.purge(at: time, from: first, limit: limit, session)
    }
  }

  public func forgetOldest(limit: Int) async throws(StoreError) -> Int {
    try await write { session throws(StoreError) in try LedgerStatements.forgetOldest(limit: limit, session) }
  }

  public func size() async throws(StoreError) -> LedgerSize? {
    try await read { session throws(StoreError) in try LedgerStatements.size(session) }
  }

  public func shrink(pages: Int) async throws(StoreError) {
    try await write { session throws(StoreError) in try LedgerStatements.shrink(pages: pages, session) }
  }

  public func close() async {
    await database.close()
  }

  private func read<Answer: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    return try await database.read(body)
  }

  private func write<Answer: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    // Each of ``LedgerStatements`` is complete with its first change, and a batch throws only what has undone it.
    return try await database.write(isSingleChange: true, body)
  }
}
