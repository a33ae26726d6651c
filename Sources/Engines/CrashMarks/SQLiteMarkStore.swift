public import CountersignTelemetry
public import SQLite

/// Marks in a table of an SQLite file: the coordinator's database, the ledger, or a file of their own.
public final class SQLiteMarkStore: MarkStore {
  /// Number of rows at which the oldest go. A process has marks of a few groups at once, and leaves them when it dies.
  static let maxRows = 4096
  /// Maximum age of a mark: far longer than a redelivered message waits for a consumer.
  static let retention: Duration = .seconds(48 * 3600)

  private let database: Database
  private let owners: OwnerLocks
  private let isOwnFile: Bool

  /// Uses a database that has the table of ``MarkSchema``, and that its owner closes.
  public convenience init(in database: Database) throws(DatabaseError) {
    try self.init(database, isOwnFile: false)
  }

  private init(_ database: Database, isOwnFile: Bool) throws(DatabaseError) {
    self.database = database
    self.isOwnFile = isOwnFile
    owners = try OwnerLocks(path: database.path)
  }

  /// Opens the marks' own file, or creates it.
  /// - Parameter path: the file; its directory must exist.
  public static func open(path: String) async throws(DatabaseError) -> SQLiteMarkStore {
    let database = try await Database.open(
      path: path, kind: .marks, migrations: [Migration(version: 1, sql: MarkSchema.sql)])
    do throws(DatabaseError) {
      return try SQLiteMarkStore(database, isOwnFile: true)
    } catch {
      await database.close()
      throw error
    }
  }

  public func find(_ keys: [MessageKey]) async throws(MarkError) -> [MessageKey: MarkStanding] {
    let owners = owners
    do throws(DatabaseError) {
      return try await database.read { session throws(DatabaseError) in
        var found: [MessageKey: MarkStanding] = [:]
        for key in keys where found[key] == nil {
          let records = try Self.records(of: key, owners, session)
          if !records.isEmpty { found[key] = MarkStanding(records) }
        }
        return found
      }
    } catch {
      throw MarkError(error.description)
    }
  }

  public func write(_ marks: [NewMark], at now: UnixTime) async throws(MarkError) {
    let own = owners.own
    try await write { session throws(DatabaseError) in
      try Self.purge(at: now, session)
      for mark in marks { try Self.write(mark, own, now, session) }
    }
  }

  public func relax(_ key: MessageKey) async throws(MarkError) {
    try await change("UPDATE crash_mark SET alone = 0 WHERE message = ? AND owner = ?", [key])
  }

  public func remove(_ keys: [MessageKey]) async throws(MarkError) {
    try await change("DELETE FROM crash_mark WHERE message = ? AND owner = ?", keys)
  }

  public func giveBack(_ keys: [MessageKey]) async throws(MarkError) {
    try await change(
      "UPDATE OR REPLACE crash_mark SET owner = 0, alone = 0, begun = begun + 1 WHERE message = ? AND owner = ?", keys)
  }

  public func release() async throws(MarkError) {
    let own = owners.own
    try await write { session throws(DatabaseError) in
      try session.execute(
        "DELETE FROM crash_mark WHERE owner = ? AND suspect = 0 AND begun = 0", [.integer(own)])
      try session.execute("UPDATE OR REPLACE crash_mark SET owner = 0, alone = 0 WHERE owner = ?", [.integer(own)])
    }
  }

  public func close() async {
    if isOwnFile { await database.close() }
    owners.end()
  }

  private func change(_ sql: String, _ keys: [MessageKey]) async throws(MarkError) {
    let own = owners.own
    try await write { session throws(DatabaseError) in
      for key in keys { try session.execute(sql, [.blob(key.bytes), .integer(own)]) }
    }
  }

  private func write(_ body: @escaping @Sendable (Session) throws(DatabaseError) -> Void) async throws(MarkError) {
    do throws(DatabaseError) { try await database.write(body) } catch { throw MarkError(error.description) }
  }

  private static func records(
    of key: MessageKey, _ owners: OwnerLocks, _ session: Session
  ) throws(DatabaseError) -> [MarkRecord] {
    try session.query(
      "SELECT owner, alone, suspect, deaths, begun FROM crash_mark WHERE message = ? LIMIT ?",
      [.blob(key.bytes), Value(maxRows)]
    ) { row throws(DatabaseError) in
      let number = Int64(row.int(0))
      return MarkRecord(
        number: number, owner: state(of: number, owners),
        isAlone: row.int(1) != 0, isSuspect: row.int(2) != 0, deaths: row.int(3), begun: row.int(4))
    }
  }

  /// State of the writer of a mark. In doubt it is living: a mark that is not counted costs one more crash, one that is
  /// counted wrongly costs a message.
  private static func state(of owner: Int64, _ owners: OwnerLocks) -> MarkRecord.Owner {
    if owner == 0 { return .nobody }
    if owner == owners.own { return .ourselves }
    return owners.isLiving(owner) ? .living : .dead
  }

  private static func write(
    _ mark: NewMark, _ own: Int64, _ now: UnixTime, _ session: Session
  ) throws(DatabaseError) {
    for owner in mark.standing.replaced {
      try session.execute(
        "DELETE FROM crash_mark WHERE message = ? AND owner = ?", [.blob(mark.key.bytes), .integer(owner)])
    }
    try session.execute(
      """
      INSERT OR REPLACE INTO crash_mark (message, owner, alone, suspect, deaths, begun, written_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .blob(mark.key.bytes), .integer(own), Value(mark.isAlone), Value(mark.standing.isSuspect),
        Value(mark.standing.deaths), Value(mark.standing.begun), .integer(now.milliseconds),
      ])
  }

  /// The table has few rows, so it needs no index on the time.
  private static func purge(at now: UnixTime, _ session: Session) throws(DatabaseError) {
    try session.execute("DELETE FROM crash_mark WHERE written_at < ?", [.integer((now - retention).milliseconds)])
    try session.execute(
      """
      DELETE FROM crash_mark WHERE (message, owner) IN (
        SELECT message, owner FROM crash_mark ORDER BY written_at
        LIMIT max(0, (SELECT count(*) FROM crash_mark) - ?))
      """, [Value(maxRows)])
  }
}

/// The table of the marks, a migration of any database that holds them.
public enum MarkSchema {
  /// `owner` is a number whose lock a living process holds. 0 when the mark was given back.
  public static let sql = """
    CREATE TABLE crash_mark (
      message BLOB NOT NULL,
      owner INTEGER NOT NULL,
      alone INTEGER NOT NULL,
      suspect INTEGER NOT NULL,
      deaths INTEGER NOT NULL,
      begun INTEGER NOT NULL,
      written_at INTEGER NOT NULL,
      PRIMARY KEY (message, owner)
    ) STRICT, WITHOUT ROWID;
    """
}
