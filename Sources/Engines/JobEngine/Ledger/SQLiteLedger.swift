public import CountersignTelemetry
public import CrashMarks
public import SQLite

/// The ledger in an SQLite file that all workers of a host share.
///
/// A claim is one insert and a settlement one update; both are committed in groups with those of other waiting jobs.
public final class SQLiteLedger: Ledger {
  private let database: Database
  /// Whether jobs from before version 5 are looked up too.
  private let hasJobsWithoutSender: Bool

  private init(_ database: Database) async throws(DatabaseError) {
    self.database = database
    hasJobsWithoutSender = try await database.read { session throws(DatabaseError) in
      try LedgerStatements.hasJobsWithoutSender(session)
    }
  }

  /// Opens the ledger, creating the file if necessary.
  /// - Parameters:
  ///   - path: the file; its directory must exist. All workers of a host name the same one.
  ///   - options: durability of a commit, and limits. With `.full` a claim survives the loss of power.
  /// - Throws: `LedgerError`, whose message has a hint for the operator.
  public static func open(
    path: String, options: DatabaseOptions = DatabaseOptions()
  ) async throws(LedgerError) -> SQLiteLedger {
    var options = options
    options.isShrinkable = true
    do throws(DatabaseError) {
      return try await SQLiteLedger(
        try await Database.open(path: path, options: options, migrations: LedgerSchema.migrations))
    } catch {
      throw LedgerError(error)
    }
  }

  public var remembers: Bool { true }

  /// The marks of redelivered jobs in the same file.
  /// - Throws: `LedgerError`, when the file of their owners cannot be created next to it.
  public func markStore() throws(LedgerError) -> any MarkStore {
    do throws(DatabaseError) {
      return try SQLiteMarkStore(in: database)
    } catch {
      throw LedgerError(error)
    }
  }

  /// Statistics of the database, for metrics.
  public var statistics: DatabaseStatistics { database.statistics }

  public func claim(_ claim: LedgerClaim) async throws(LedgerError) -> ClaimAnswer {
    try await write(claim) { claim, session throws(DatabaseError) in try LedgerStatements.claim(claim, session) }
  }

  public func release(_ claim: LedgerClaim) async throws(LedgerError) {
    try await write(claim) { claim, session throws(DatabaseError) in try LedgerStatements.release(claim, session) }
  }

  public func postpone(_ claim: LedgerClaim) async throws(LedgerError) {
    try await write(claim) { claim, session throws(DatabaseError) in try LedgerStatements.postpone(claim, session) }
  }

  public func settle(
    _ claim: LedgerClaim, result: [UInt8], at time: UnixTime
  ) async throws(LedgerError) -> [UInt8]? {
    try await write(claim) { claim, session throws(DatabaseError) in
      try LedgerStatements.settle(claim, result: result, at: time, session)
    }
  }

  public func job(matching match: LedgerMatch) async throws(LedgerError) -> LedgerMatchedJob? {
    try await read { session throws(DatabaseError) in try LedgerStatements.job(match, session) }
  }

  public func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(LedgerError) -> LedgerPurgeStep {
    try await write { session throws(DatabaseError) in
      try LedgerStatements.purge(at: time, from: first, limit: limit, session)
    }
  }

  public func forgetOldest(limit: Int) async throws(LedgerError) -> Int {
    try await write { session throws(DatabaseError) in try LedgerStatements.forgetOldest(limit: limit, session) }
  }

  public func size() async throws(LedgerError) -> LedgerSize? {
    try await read { session throws(DatabaseError) in try LedgerStatements.size(session) }
  }

  public func shrink(pages: Int) async throws(LedgerError) {
    try await write { session throws(DatabaseError) in try LedgerStatements.shrink(pages: pages, session) }
  }

  public func close() async {
    await database.close()
  }

  private func read<Answer: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> Answer
  ) async throws(LedgerError) -> Answer {
    do throws(DatabaseError) {
      return try await database.read(body)
    } catch {
      throw LedgerError(error)
    }
  }

  /// Writes about a claim's job, under its recorded key.
  private func write<Answer: Sendable>(
    _ claim: LedgerClaim, _ body: @escaping @Sendable (LedgerClaim, Session) throws(DatabaseError) -> Answer
  ) async throws(LedgerError) -> Answer {
    try await write { [hasJobsWithoutSender] session throws(DatabaseError) in
      guard hasJobsWithoutSender, try LedgerStatements.isWithoutSender(claim.messageID, session) else {
        return try body(claim, session)
      }
      var known = claim
      known.key = claim.messageID
      return try body(known, session)
    }
  }

  private func write<Answer: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> Answer
  ) async throws(LedgerError) -> Answer {
    do throws(DatabaseError) {
      // Each of ``LedgerStatements`` is complete with its first change.
      return try await database.write(isSingleChange: true, body)
    } catch {
      throw LedgerError(error)
    }
  }
}
