import CSQLite
import CountersignTelemetry

/// One connection to SQLite. Not Sendable: it belongs to the actor that opened it, on whose serial queue all of it
/// runs.
final class SQLiteConnection {
  /// Maximum time that a checkpoint waits for another process's group and for readers of old snapshots. All writers
  /// stand still meanwhile.
  private static let longestCheckpointWait = Duration.milliseconds(50)
  /// The same when the log must start anew.
  private static let longestRestartWait = Duration.milliseconds(250)

  /// For the whole process, before the first connection. Harmless if it fails because the library is already in use.
  private static let isConfigured: Bool = csqlite_forgo_memory_statistics() == SQLITE_OK

  let path: String
  private(set) var logPages = 0

  private var handle: OpaquePointer?
  private var cache: StatementCache
  /// Apart from the bodies' statements, which may not control transactions.
  private var control = StatementCache(limit: 16)
  private let busyHandler: BusyHandler

  init(path: String, options: DatabaseOptions) throws(StoreError) {
    self.path = path
    self.cache = StatementCache(limit: options.maxStatements)
    self.busyHandler = BusyHandler(timeout: options.busyTimeout)
    _ = Self.isConfigured
    // NOMUTEX: the actor guarantees that one thread at a time uses the connection.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else {
      let error = StoreError.last(of: handle, path: path)
      sqlite3_close_v2(handle)
      self.handle = nil
      throw error
    }
    busyHandler.install(on: handle)
    observeLog(of: handle)
  }

  deinit {
    close()
  }

  /// The last connection of a file also empties its write-ahead log and removes it.
  func close() {
    cache.removeAll()
    control.removeAll()
    sqlite3_close_v2(handle)
    handle = nil
  }

  var cachedStatements: Int { cache.count }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }

  var lastInsertedRowID: Int { Int(sqlite3_last_insert_rowid(handle)) }

  func lastError() -> StoreError { .last(of: handle, path: path) }

  private func observeLog(of handle: OpaquePointer) {
    // Also switches SQLite's automatic checkpoints off, which are done through the same hook.
    sqlite3_wal_hook(
      handle,
      { context, _, _, pages in
        guard let context else { return SQLITE_OK }
        Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Copies the write-ahead log into the database: all of it, or as much as readers of old snapshots allow.
  func checkpoint(restarting: Bool) throws(StoreError) {
    busyHandler.limit = restarting ? Self.longestRestartWait : Self.longestCheckpointWait
    defer { busyHandler.limit = nil }
    let mode = restarting ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_FULL
    guard sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil) == SQLITE_OK else { throw lastError() }
  }

  func script(_ sql: String) throws(StoreError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw lastError() }
  }
}

// MARK: - Statements

extension SQLiteConnection {
  func execute(_ sql: String, _ values: [Value]) throws(StoreError) -> Int {
    let before = sqlite3_total_changes64(handle)
    try withStatement(sql, values) { statement throws(StoreError) in
      while try self.step(statement) {}
    }
    return Int(sqlite3_total_changes64(handle) - before)
  }

  func run(_ sql: String) throws(StoreError) {
    let statement: Statement
    if let kept = control.take(sql) {
      statement = kept
    } else {
      statement = try prepare(sql)
      control.keep(statement, for: sql)
    }
    defer { release(statement) }
    while try step(statement) {}
  }

  func query<T>(
    _ sql: String, _ values: [Value], _ row: (Row) throws(StoreError) -> T
  ) throws(StoreError) -> [T] {
    try withStatement(sql, values) { statement throws(StoreError) in
      var rows: [T] = []
      while try self.step(statement) {
        rows.append(try row(Row(statement.handle)))
      }
      return rows
    }
  }

  func first<T>(
    _ sql: String, _ values: [Value], _ row: (Row) throws(StoreError) -> T
  ) throws(StoreError) -> T? {
    try withStatement(sql, values) { statement throws(StoreError) in
      try self.step(statement) ? try row(Row(statement.handle)) : nil
    }
  }

  /// SQLite ends some of them itself.
  func rollBackIfOpen() {
    guard isInTransaction else { return }
    // It fails only when there is nothing left to undo.
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }

  private func step(_ statement: Statement) throws(StoreError) -> Bool {
    switch sqlite3_step(statement.handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw lastError()
    }
  }

  private func withStatement<T>(
    _ sql: String, _ values: [Value], _ body: (Statement) throws(StoreError) -> T
  ) throws(StoreError) -> T {
    let statement = try take(sql)
    defer { release(statement) }
    let code = statement.bind(values)
    guard code != SQLITE_RANGE else {
      throw StoreError(.misuse, "\(values.count) values do not fit the statement: \(sql)", sqliteCode: Int(code))
    }
    guard code == SQLITE_OK else { throw lastError() }
    return try body(statement)
  }

  private func take(_ sql: String) throws(StoreError) -> Statement {
    if let statement = cache.take(sql) { return statement }
    try Self.refuseTransactionControl(in: sql)
    let statement = try prepare(sql)
    statement.isInUse = true
    cache.keep(statement, for: sql)
    return statement
  }

  private func release(_ statement: Statement) {
    statement.reset()
    statement.isInUse = false
  }

  private func prepare(_ sql: String) throws(StoreError) -> Statement {
    var sql = sql
    var prepared: OpaquePointer?
    let (code, rest) = sql.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        var tail: UnsafePointer<CChar>?
        let code = sqlite3_prepare_v3(
          handle, text.baseAddress, Int32(clamping: text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &tail)
        guard let start = text.baseAddress, let tail else { return (code, false) }
        return (code, text[(tail - start)...].contains { !Self.isFiller($0) })
      }
    }
    guard code == SQLITE_OK else { throw lastError() }
    guard let prepared else { throw StoreError(.misuse, "there is no statement in: \(sql)") }
    let statement = Statement(prepared)
    if rest { throw StoreError(.misuse, "one statement at a time, not: \(sql)") }
    return statement
  }

  private static func isFiller(_ character: CChar) -> Bool {
    [0x09, 0x0A, 0x0D, 0x20, 0x3B].contains(character)
  }
}
