import Glibc
import SQLite

/// A file as a side of a copy.
struct SQLiteCopySide: CopySide {
  let kind: DatabaseKind?
  var name: String { database.path }
  private let database: Database
  private let store: SQLiteStore
  private let owner: FileOwner

  /// Opens the file of any service on the engine.
  static func open(_ path: String, creating kind: DatabaseKind?) async throws(StoreError) -> SQLiteCopySide {
    let isThere = exists(path)
    guard isThere || kind != nil else {
      throw StoreError(.content, "\(path) does not exist, is empty, or you may not look at it")
    }
    do throws(DatabaseError) {
      guard let owner = try FileOwner.claim(path) else {
        throw DatabaseError(.busy, "a process has \(path): stop it first")
      }
      let (kind, database) = try await open(path, isThere ? DatabaseKind.services : [kind].compactMap { $0 })
      let store: SQLiteStore
      do throws(StoreError) { store = try await SQLiteStore(in: database) } catch {
        await database.close()
        throw DatabaseError(.cannotOpen, error.message)
      }
      return SQLiteCopySide(kind: kind, database: database, store: store, owner: owner)
    } catch {
      throw error.code == .otherKind ? StoreError(.content, error.message) : StoreError(error)
    }
  }

  /// Whether there is a file that is not empty: opened, one that is would become the service's.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_size > 0
  }

  private static func open(
    _ path: String, _ kinds: [DatabaseKind]
  ) async throws(DatabaseError) -> (DatabaseKind, Database) {
    var refusal = DatabaseError(.misuse, "a file is of no service")
    for kind in kinds {
      do throws(DatabaseError) {
        return (kind, try await Database.open(path: path, kind: kind, migrations: ServiceSchema.migrations))
      } catch {
        guard error.code == .otherKind else { throw error }
        refusal = error
      }
    }
    throw refusal
  }

  private init(kind: DatabaseKind, database: Database, store: SQLiteStore, owner: FileOwner) {
    (self.kind, self.database, self.store, self.owner) = (kind, database, store, owner)
  }

  // MARK: Rows

  private static func join(_ table: CopiedTable) -> String {
    "r.number = t.record" + (table.name == "store_group" ? " AND r.id = t.id" : "")
  }

  func rows(of table: CopiedTable, behind key: [Value]?, limit: Int) async throws(StoreError) -> [[Value]] {
    let sql = table.page(joining: Self.join(table), isFirst: key == nil) { _ in "?" }
    return try await store.look { session throws(StoreError) in
      try session.query(sql, (key ?? []) + [Value(limit)]) { row in
        table.columns.enumerated().map { Self.value(row, $0, $1.form) }
      }
    }
  }

  private static func value(_ row: Row, _ column: Int, _ form: CopiedTable.Form) -> Value {
    if row.isNull(column) { return .null }
    return switch form {
    case .integer: Value(row.int(column))
    case .text: .text(row.text(column))
    case .bytes: .blob(row.blob(column))
    }
  }

  func last(of table: CopiedTable) async throws(StoreError) -> [Value]? {
    try await store.look { session throws(StoreError) in
      try session.first(table.last(joining: Self.join(table)), []) { row in
        table.columns.prefix(table.keyCount).enumerated().map { Self.value(row, $0, $1.form) }
      }
    }
  }

  func count(_ table: CopiedTable) async throws(StoreError) -> Int {
    try await store.look { session throws(StoreError) in
      try session.first(table.count(joining: Self.join(table)), []) { $0.int(0) } ?? 0
    }
  }

  // MARK: Changes

  func add(_ rows: [[Value]], to table: CopiedTable) async throws(StoreError) {
    let own = store.owners.own
    try await store.change { session throws(StoreError) -> Void in
      if table.isOutbox { try session.execute(SQLiteOutbox.lower, [0, .integer(own)]) }
      for row in rows { try Self.add(row, to: table, of: own, session) }
    }
  }

  private static func add(
    _ row: [Value], to table: CopiedTable, of owner: Int64, _ session: StoreSession
  ) throws(StoreError) {
    let marks = Array(repeating: "?", count: table.columns.count).joined(separator: ", ")
    switch table.name {
    case "store_record":
      try session.execute(
        "INSERT INTO store_record (\(table.names), number) VALUES (\(marks), ?)",
        row + [Value(try SQLiteSequence.take(1, .record, session))])
    case "store_outbox":
      try session.execute(
        "INSERT INTO store_outbox (\(table.names), owner) VALUES (\(marks), ?)", row + [.integer(owner)])
    case _ where table.leadsToRecord:
      let isGroup = table.name == "store_group"
      try session.execute(
        """
        INSERT INTO \(table.name) (key\(isGroup ? ", id" : ""), record)
        SELECT ?1\(isGroup ? ", ?2" : ""), number FROM store_record WHERE id = ?2 AND kind = ?3
        """, row + [.text(kind(ofKey: row[0]))])
    default:
      try session.execute("INSERT INTO \(table.name) (\(table.names)) VALUES (\(marks))", row)
    }
  }

  /// The kind of a key's record, with which the key begins.
  private static func kind(ofKey key: Value) -> String {
    guard case .blob(let bytes) = key else { return "" }
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
  }

  func clear(_ mark: CopyMark) async throws(StoreError) {
    try await store.change { session throws(StoreError) -> Void in
      for table in CopiedTable.all { try session.execute("DELETE FROM \(table.name)") }
      try Self.set(mark, session)
    }
  }

  func advance() async throws(StoreError) {
    try await store.change { session throws(StoreError) -> Void in
      try session.execute(
        """
        UPDATE store_sequence SET last = max(last, (SELECT coalesce(max(number), 0) FROM store_outbox))
        WHERE name = 'outbox'
        """)
    }
  }

  // MARK: Mark

  func mark() async throws(StoreError) -> CopyMark? { try await store.copyMark() }

  func setMark(_ mark: CopyMark?) async throws(StoreError) {
    try await store.change { session throws(StoreError) -> Void in try Self.set(mark, session) }
  }

  private static func set(_ mark: CopyMark?, _ session: StoreSession) throws(StoreError) {
    try session.execute("DELETE FROM store_copy")
    guard let mark else { return }
    try session.execute(
      "INSERT INTO store_copy (id, target, other) VALUES (?, ?, ?)",
      [.text(mark.id), Value(mark.isTarget), .text(mark.other)])
  }

  func close() async {
    await store.close()
    await database.close()
    owner.release()
  }
}

extension SQLiteStore {
  func copyMark() async throws(StoreError) -> CopyMark? {
    try await look { session throws(StoreError) in
      try session.first(CopyMark.select, []) { row in
        CopyMark(id: row.text(0), isTarget: row.bool(1), other: row.text(2))
      }
    }
  }

  /// Makes the file a service's own again: a copy of it that was interrupted is given up.
  package func endCopy() async throws(StoreError) {
    guard let mark = try await copyMark() else { return }
    if let error = StoreError.isPart(mark) { throw error }
    try await change { session throws(StoreError) -> Void in try session.execute("DELETE FROM store_copy") }
  }
}
