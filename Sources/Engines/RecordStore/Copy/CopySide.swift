import SQLite

/// One of the two databases of a copy, which no process of a service has meanwhile.
struct CopySide: Sendable {
  /// `nil` before any has used it.
  let kind: DatabaseKind?
  let name: String
  let store: any CopyStore
  let close: @Sendable () async -> Void

  /// In the order of their keys. The first ones for `nil`.
  func rows(of table: CopiedTable, behind key: [Value]?, limit: Int) async throws(StoreError) -> [[Value]] {
    let sql = table.page(joining: store.join(table), isFirst: key == nil)
    return try await store.query(CopyStatement(sql, (key ?? []) + [Value(limit)]), table.columns.map(\.form))
  }

  func last(of table: CopiedTable) async throws(StoreError) -> [Value]? {
    let forms = table.columns.prefix(table.keyCount).map(\.form)
    return try await store.query(CopyStatement(table.last(joining: store.join(table))), forms).first
  }

  func count(_ table: CopiedTable) async throws(StoreError) -> Int {
    let rows = try await store.query(CopyStatement(table.count(joining: store.join(table))), [.integer])
    guard case .integer(let count)? = rows.first?.first else { return 0 }
    return Int(count)
  }

  func add(_ rows: [[Value]], to table: CopiedTable) async throws(StoreError) {
    try await store.execute(store.inserts(rows, into: table))
  }

  func clear(_ mark: CopyMark) async throws(StoreError) {
    try await store.execute(CopiedTable.all.map { CopyStatement("DELETE FROM \($0.name)") } + CopyMark.set(mark))
  }

  /// Has new messages get numbers behind those that were copied.
  func advance() async throws(StoreError) { try await store.execute([CopyStatement(store.advance)]) }

  func mark() async throws(StoreError) -> CopyMark? { try await CopyMark.find(in: store) }

  func setMark(_ mark: CopyMark?) async throws(StoreError) { try await store.execute(CopyMark.set(mark)) }
}

/// A statement of a copy. Placeholders are `$1`, `$2` …, in the order in which they occur first.
struct CopyStatement: Sendable {
  let sql: String
  let values: [Value]

  init(_ sql: String, _ values: [Value] = []) {
    (self.sql, self.values) = (sql, values)
  }
}

protocol CopyStore: Sendable {
  /// Statement that has new messages get numbers behind those in the table.
  var advance: String { get }
  /// Condition under which a row `t` belongs to a record `r`.
  func join(_ table: CopiedTable) -> String
  func inserts(_ rows: [[Value]], into table: CopiedTable) -> [CopyStatement]
  func query(_ statement: CopyStatement, _ forms: [CopiedTable.Form]) async throws(StoreError) -> [[Value]]
  /// Runs statements in one transaction.
  func execute(_ statements: [CopyStatement]) async throws(StoreError)
}

/// A copy that has begun: both of its databases have the mark until it has ended.
struct CopyMark: Sendable, Hashable {
  let id: String
  let isTarget: Bool
  let other: String

  static func find(in store: any CopyStore) async throws(StoreError) -> CopyMark? {
    let rows = try await store.query(
      CopyStatement("SELECT id, target, other FROM store_copy"), [.text, .integer, .text])
    guard let row = rows.first, case .text(let id) = row[0], case .text(let other) = row[2] else { return nil }
    return CopyMark(id: id, isTarget: row[1] != 0, other: other)
  }

  static func set(_ mark: CopyMark?) -> [CopyStatement] {
    let forget = CopyStatement("DELETE FROM store_copy")
    guard let mark else { return [forget] }
    return [
      forget,
      CopyStatement(
        "INSERT INTO store_copy (id, target, other) VALUES ($1, CAST($2 AS bigint) <> 0, $3)",
        [.text(mark.id), Value(mark.isTarget), .text(mark.other)]),
    ]
  }

  /// Makes a database a service's own again: a copy of it that was interrupted is given up.
  static func end(in store: any CopyStore) async throws(StoreError) {
    guard let mark = try await find(in: store) else { return }
    if let error = StoreError.isPart(mark) { throw error }
    try await store.execute(set(nil))
  }
}

extension StoreError {
  /// Reason for a service not to start on a database that holds a part of another one. `nil` without one.
  static func isPart(_ mark: CopyMark?) -> StoreError? {
    guard let mark, mark.isTarget else { return nil }
    return StoreError(
      .schema,
      "the database holds a part of \(mark.other), whose copy was interrupted: run 'countersign store copy' again")
  }
}
