public import CountersignTelemetry
public import SQLite
import Synchronization

/// A store in an SQLite file.
///
/// One writer at a time works on the file, in this process and in others, so a transaction meets no competition; only
/// ``write(_:settling:)`` and two stores that make the same IDs do. Transactions that wait together share one commit.
/// The owner of messages is a lock beside the file, which ends with its process.
public final class SQLiteStore: Store {
  let database: Database
  let owners: OwnerLocks
  private let isOwnFile: Bool

  /// Opens a file that holds nothing but a store, or creates it.
  /// - Parameters:
  ///   - path: the file; its directory must exist.
  ///   - options: limits and how safe a commit is.
  /// - Throws: ``StoreError``, whose message names the remedy for an operator.
  public static func open(
    path: String, options: DatabaseOptions = DatabaseOptions()
  ) async throws(StoreError) -> SQLiteStore {
    let database = try await Database.open(
      path: path, options: options, migrations: [Migration(version: 1, sql: StoreSchema.sql)])
    do throws(StoreError) {
      return try await SQLiteStore(database, isOwnFile: true)
    } catch {
      await database.close()
      throw error
    }
  }

  /// Uses a database that has the tables of ``StoreSchema``, and that its owner closes.
  /// - Throws: ``StoreError`` when the lock of the owner cannot be taken, or the store takes no writes.
  public convenience init(in database: Database) async throws(StoreError) {
    try await self.init(database, isOwnFile: false)
  }

  private init(_ database: Database, isOwnFile: Bool) async throws(StoreError) {
    owners = try OwnerLocks(path: database.path)
    self.database = database
    self.isOwnFile = isOwnFile
    let own = owners.own
    try await change { session throws(StoreError) -> Void in
      try session.execute(SQLiteOutbox.enroll, [.integer(own)])
    }
  }

  /// Ends the ownership of messages, and closes the file if it is this store's own.
  public func close() async {
    if isOwnFile { await database.close() }
    owners.end()
  }

  // MARK: Transactions

  public func read(_ keys: StoreKeys, at now: UnixTime) async throws(StoreError) -> WorkingSet {
    try await look { session throws(StoreError) in
      var set = WorkingSet(at: now)
      try SQLiteLoad(session: session).load(keys, into: &set)
      return set
    }
  }

  public func read<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await look { session throws(StoreError) in
      var set = WorkingSet(at: now)
      return try SQLiteLoad(session: session).run(first, into: &set, body)
    }
  }

  public func write(
    _ set: WorkingSet, settling settlement: OutboxSettlement
  ) async throws(StoreError) -> StoreOutcome<Void> {
    let (changes, now, own) = (set.changes, set.now, owners.own)
    return try await transaction { session throws(StoreError) in
      try SQLiteOutbox(session: session, owner: own).settle(settlement)
      return ((), try SQLiteWrite(session: session, owner: own, now: now).write(changes))
    }
  }

  public func transact<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> StoreOutcome<Value> {
    let own = owners.own
    return try await transaction { session throws(StoreError) in
      try SQLiteOutbox(session: session, owner: own).settle(settlement)
      var set = WorkingSet(at: now)
      let value = try SQLiteLoad(session: session).run(first, into: &set, body)
      return (value, try SQLiteWrite(session: session, owner: own, now: now).write(set.changes))
    }
  }

  public func probe() async throws(StoreError) {
    try await change { session throws(StoreError) -> Void in
      for table in ["store_inbox", "store_record", "store_unique", "store_counter", "store_outbox"] {
        _ = try session.first("SELECT 1 FROM \(table)", []) { $0.int(0) }
      }
      let key: Value = .blob(Array("countersign-probe".utf8))
      try session.execute(
        """
        INSERT OR REPLACE INTO store_inbox (key, state, fingerprint, type, reply, keep)
        VALUES (?, 0, x'', '', x'', 0)
        """, [key])
      try session.execute("DELETE FROM store_inbox WHERE key = ?", [key])
    }
  }

  // MARK: Database

  func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> (Value, [StoredMessage])
  ) async throws(StoreError) -> StoreOutcome<Value> {
    do throws(StoreError) {
      let (value, messages) = try await change(body)
      return .stored(value, messages: messages)
    } catch {
      guard let conflict = error.conflict else { throw error }
      return .conflict(conflict)
    }
  }

  @discardableResult
  func change<Value: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await database.write(body)
  }

  func look<Value: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await database.read(body)
  }
}

// Look-ups for operators and gauges: parts of the store by the beginning of a name, and by content.
extension SQLiteStore {
  static let sums = """
    SELECT key, sum(count) FROM store_counter WHERE key >= ? AND key < ? AND slot >= ?
    GROUP BY key HAVING sum(count) > 0 ORDER BY key LIMIT ?
    """

  public func counters(
    named prefix: [UInt8], since slot: Int64, limit: Int
  ) async throws(StoreError) -> [CounterSum] {
    try StoreError.check(prefix.count, 1...StoreLimits.maxHashBytes, "the beginning of a counter's name")
    try StoreError.check(limit, 1...StoreLimits.maxListedCounters, "a list of counters")
    return try await look { session throws(StoreError) in
      try session.query(
        Self.sums, [.blob(prefix), .blob(KeyRange.end(of: prefix)), .integer(slot), Value(limit)]
      ) { row in CounterSum(key: CounterKey(stored: row.blob(0)), count: Int64(row.int(1))) }
    }
  }

  static let heldKeys = "SELECT count(*) FROM store_unique WHERE key >= ? AND key < ?"
  static let sharedKeys = "SELECT count(*) FROM store_group WHERE key >= ? AND key < ?"

  public func count(_ space: KeySpace) async throws(StoreError) -> Int {
    let range: [Value] = [.blob(space.start), .blob(KeyRange.end(of: space.start))]
    return try await look { session throws(StoreError) in
      var count = 0
      for statement in [Self.heldKeys, Self.sharedKeys] {
        count += try session.first(statement, range) { $0.int(0) } ?? 0
      }
      return count
    }
  }

  static let searchedEntries = 1_000
  static let searchReplies = """
    SELECT number, instr(reply, ?) > 0 FROM store_inbox WHERE number > ? ORDER BY number LIMIT \(searchedEntries)
    """
  static let forgetReply = "DELETE FROM store_inbox WHERE number = ? AND instr(reply, ?) > 0"

  /// Searches beside the changes, which wait for what is deleted alone.
  public func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int {
    // Everything contains an empty text.
    guard !text.isEmpty else { return 0 }
    var (forgotten, last) = (0, 0)
    while true {
      if Task.isCancelled { throw StoreError(.unavailable, "the search was ended before its end") }
      let values: [Value] = [.blob(text), .integer(Int64(last))]
      let page = try await look { session throws(StoreError) in
        try session.query(Self.searchReplies, values) { (number: $0.int(0), contains: $0.bool(1)) }
      }
      guard let end = page.last else { return forgotten }
      forgotten += try await forget(page.filter(\.contains).map(\.number), containing: text)
      last = end.number
    }
  }

  private func forget(_ entries: [Int], containing text: [UInt8]) async throws(StoreError) -> Int {
    guard !entries.isEmpty else { return 0 }
    return try await change { session throws(StoreError) in
      var count = 0
      for number in entries {
        count += try session.execute(Self.forgetReply, [.integer(Int64(number)), .blob(text)])
      }
      return count
    }
  }

  public func forgetCounters() async throws(StoreError) -> Int {
    try await change { session throws(StoreError) in try session.execute("DELETE FROM store_counter") }
  }
}
