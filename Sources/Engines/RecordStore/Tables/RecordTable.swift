public import CountersignTelemetry
public import PostgreSQL
public import SQLite

/// Records of processes that need no ``Store``: found by kind and key, and forgotten by age.
///
/// A table is in an SQLite file or in PostgreSQL, and several processes share it. Every call is one commit and, on a
/// server, one round trip.
public final class RecordTable: Sendable {
  /// The table of a file, a migration of any database that holds one.
  public static let schema = """
    CREATE TABLE record (
      kind TEXT NOT NULL,
      key BLOB NOT NULL,
      owner INTEGER NOT NULL,
      written INTEGER NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (kind, key, owner)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX record_written ON record (kind, written);

    """

  private let backend: any TableBackend
  private let table: String

  private init(_ backend: any TableBackend, table: String = "record") {
    self.backend = backend
    self.table = table
  }

  /// Opens a file of its own, or creates it.
  /// - Parameters:
  ///   - path: the file; its directory must exist.
  ///   - kind: the service whose file it is.
  ///   - hasOwners: whether records may belong to this process; a lock beside the file tells whether it lives.
  /// - Throws: ``StoreError``, whose message names the remedy for an operator.
  public static func open(
    path: String, of kind: DatabaseKind, hasOwners: Bool = false
  ) async throws(StoreError) -> RecordTable {
    RecordTable(try await SQLiteTable.open(path, kind, hasOwners: hasOwners))
  }

  /// Uses a database that has the table, and that its owner closes. Its records may belong to this process.
  /// - Throws: ``StoreError`` when the lock beside the file cannot be taken.
  public convenience init(in database: Database) throws(StoreError) {
    self.init(try SQLiteTable.using(database))
  }

  /// Connects to a server. Reconnects automatically if the connection is lost later.
  /// - Throws: ``StoreError``: ``StoreError/Code/schema`` when the tables are not those of this program;
  ///   ``StoreError/Code/unavailable`` when it may succeed later.
  public static func open(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions(), at place: RecordPlace
  ) async throws(StoreError) -> RecordTable {
    RecordTable(try await PostgreSQLTable.open(endpoint, options, place), table: place.table)
  }

  /// Gives the ownership of records up, and closes what belongs to the table alone.
  public func close() async { await backend.close() }

  // MARK: Records

  private var select: String { "SELECT kind, key, owner, written, body FROM \(table) WHERE kind = $1" }
  private var delete: String { "DELETE FROM \(table) WHERE kind = $1 AND key = $2 AND owner = $3" }
  private var insert: String {
    """
    INSERT INTO \(table) (kind, key, owner, written, body) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (kind, key, owner) DO
    """
  }

  /// Records of a kind under some keys, of any owner.
  /// - Throws: ``StoreError``.
  public func find(_ kind: RecordKind, _ keys: [[UInt8]]) async throws(StoreError) -> [TableRecord] {
    guard !keys.isEmpty else { return [] }
    let sql = "\(select) AND key = $2"
    return try await backend.run { _ in
      keys.map { TableStatement(sql, [.text(kind.name), .blob($0)], isQuery: true) }
    }.flatMap(\.records)
  }

  /// Records of a kind, those that were written last first.
  /// - Throws: ``StoreError``.
  public func latest(_ kind: RecordKind, limit: Int) async throws(StoreError) -> [TableRecord] {
    let sql = "\(select) ORDER BY written DESC LIMIT $2"
    return try await backend.run { _ in
      [TableStatement(sql, [.text(kind.name), Value(limit)], isQuery: true)]
    }.flatMap(\.records)
  }

  /// Adds a record without an owner, unless there is one under its key.
  /// - Returns: the one that is there. `nil` when the record was added.
  /// - Throws: ``StoreError``.
  public func add(_ record: TableRecord) async throws(StoreError) -> TableRecord? {
    let (insert, look) = ("\(insert) NOTHING", "\(select) AND key = $2 AND owner = 0")
    for _ in 0..<2 {
      let results = try await backend.run { _ in
        [
          TableStatement(insert, record.identity(own: 0) + record.content),
          TableStatement(look, [.text(record.kind.name), .blob(record.key)], isQuery: true),
        ]
      }
      guard results.count == 2, results[0].affected == 0 else { return nil }
      if let known = results[1].records.first { return known }
      // Another process has removed it in between.
    }
    return TableRecord(record.kind, record.key, writtenAt: record.writtenAt)
  }

  /// Removes a record without an owner.
  /// - Parameters:
  ///   - kind: its kind.
  ///   - key: its key.
  ///   - body: the body that it must have; `nil` for any.
  /// - Returns: whether there was one.
  /// - Throws: ``StoreError``.
  public func remove(
    _ kind: RecordKind, _ key: [UInt8], holding body: [UInt8]? = nil
  ) async throws(StoreError) -> Bool {
    let sql = delete + (body == nil ? "" : " AND body = $4")
    let identity = TableRecord(kind, key).identity(own: 0)
    let condition: [Value] = body.map { [Value.blob($0)] } ?? []
    return try await backend.run { _ in [TableStatement(sql, identity + condition)] }.contains { $0.affected > 0 }
  }

  /// Writes a record in the place of the one with the same kind, key and owner. Nothing happens when there is none.
  /// - Parameters:
  ///   - record: the record.
  ///   - beginning: bytes with which the body that it replaces must begin; `nil` for any.
  /// - Throws: ``StoreError``.
  public func replace(_ record: TableRecord, beginning: [UInt8]? = nil) async throws(StoreError) {
    let condition = beginning == nil ? "" : " AND substr(body, 1, CAST($6 AS integer)) = $7"
    let sql = """
      UPDATE \(table) SET written = $1, body = $2 WHERE kind = $3 AND key = $4 AND owner = $5\(condition)
      """
    let values: [Value] = beginning.map { [Value($0.count), .blob($0)] } ?? []
    _ = try await backend.run { own in
      [TableStatement(sql, record.content + record.identity(own: own) + values)]
    }
  }

  /// Removes, writes and forgets records, in this order, all or none.
  /// - Parameters:
  ///   - removed: records that go, by their kinds, keys and owners.
  ///   - written: records that take the place of those with the same kinds, keys and owners.
  ///   - forgotten: records to forget.
  /// - Returns: whether more records may have to be forgotten: of a kind, the limit has gone.
  /// - Throws: ``StoreError``.
  @discardableResult
  public func change(
    removing removed: [TableRecord] = [], writing written: [TableRecord] = [], forgetting forgotten: [TableAge] = []
  ) async throws(StoreError) -> Bool {
    guard !removed.isEmpty || !written.isEmpty || !forgotten.isEmpty else { return false }
    let (delete, write, table, lock) = (
      delete, "\(insert) UPDATE SET written = excluded.written, body = excluded.body", table, backend.lock
    )
    // In one order, so that two processes do not wait for each other.
    let removed = removed.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let written = written.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let results = try await backend.run { own in
      removed.map { TableStatement(delete, $0.identity(own: own)) }
        + written.map { TableStatement(write, $0.identity(own: own) + $0.content) }
        + forgotten.map { $0.statement(table, lock) }
    }
    return results.suffix(forgotten.count).contains { $0.affected >= TableAge.maxRows }
  }
}

/// State of the process that owns a record.
public enum OwnerState: Sendable, Hashable {
  /// It runs.
  case living
  /// It is this process.
  case ourselves
  /// It ended without giving the record back: a crash.
  case dead
  /// The record has no owner.
  case nobody
}

/// A record of a ``RecordTable``. Each owner may have one under the same key.
public struct TableRecord: Sendable, Hashable {
  /// Kind of the record.
  public var kind: RecordKind
  /// Any bytes.
  public var key: [UInt8]
  /// State of its owner: a new one belongs to this process, or has none.
  public var state: OwnerState
  /// Number of its owner, as it was found.
  public var owner: Int64
  /// Time at which it was written.
  public var writtenAt: UnixTime
  /// Content in the form of its kind.
  public var body: [UInt8]

  public init(
    _ kind: RecordKind, _ key: [UInt8], state: OwnerState = .nobody, owner: Int64 = 0,
    writtenAt: UnixTime = UnixTime(milliseconds: 0), body: [UInt8] = []
  ) {
    self.kind = kind
    self.key = key
    self.state = state
    self.owner = owner
    self.writtenAt = writtenAt
    self.body = body
  }

  fileprivate func identity(own: Int64) -> [Value] {
    [.text(kind.name), .blob(key), .integer(state == .ourselves ? own : owner)]
  }

  fileprivate var content: [Value] { [.integer(writtenAt.milliseconds), .blob(body)] }
}

/// Age from which records of a kind go, the oldest first, up to ``maxRows`` at once.
public struct TableAge: Sendable {
  /// Records that go at once.
  public static let maxRows = 2_000

  private let kind: RecordKind
  private let time: UnixTime
  private let limit: Int?

  /// - Parameters:
  ///   - kind: kind of the records.
  ///   - time: time before which they were written.
  ///   - limit: number of records behind the newest from which they go whatever their age.
  public init(_ kind: RecordKind, before time: UnixTime, beyond limit: Int? = nil) {
    self.kind = kind
    self.time = time
    self.limit = limit
  }

  /// Rows that another process deletes at the same time are left to it.
  fileprivate func statement(_ table: String, _ lock: String) -> TableStatement {
    let excess = limit.map { limit in
      " OR written <= (SELECT written FROM \(table) WHERE kind = $1 ORDER BY written DESC LIMIT 1 OFFSET \(limit))"
    }
    let sql = """
      DELETE FROM \(table) WHERE (kind, key, owner) IN (
        SELECT kind, key, owner FROM \(table) WHERE kind = $1 AND (written < $2\(excess ?? ""))
        ORDER BY written LIMIT \(Self.maxRows) \(lock))
      """
    return TableStatement(sql, [.text(kind.name), .integer(time.milliseconds)])
  }
}
