import PostgreSQL
import SQLite

/// A database of a server as a side of a copy.
struct PostgreSQLCopySide: CopySide {
  let kind: DatabaseKind?
  let name: String
  private let store: PostgreSQLStore

  static func open(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions, creating kind: DatabaseKind?
  ) async throws(StoreError) -> PostgreSQLCopySide {
    var settings = PostgreSQLStoreOptions(options)
    settings.isExclusive = true
    settings.kind = kind
    // Deleting and counting everything take longer than a batch.
    settings.connections.statementTimeout = .seconds(600)
    settings.connections.runTimeout = .seconds(900)
    let store = try await PostgreSQLStore.open(endpoint, options: settings)
    do throws(StoreError) {
      let found = try await store.change { session throws(PostgreSQLFailure) in
        try session.rows("SELECT name FROM store_service", []) { row throws(PostgreSQLError) in try row.text(0) }
      }
      return PostgreSQLCopySide(
        kind: found.first.flatMap(DatabaseKind.init(service:)), name: endpoint.description, store: store)
    } catch {
      await store.close()
      throw error
    }
  }

  private init(kind: DatabaseKind?, name: String, store: PostgreSQLStore) {
    (self.kind, self.name, self.store) = (kind, name, store)
  }

  // MARK: Rows

  /// A key begins with the kind of its record, and a dot.
  private static let join = """
    r.id = t.id AND r.kind = convert_from(substring(t.key FROM 1 FOR position('\\x2e'::bytea IN t.key) - 1), 'UTF8')
    """

  func rows(of table: CopiedTable, behind key: [Value]?, limit: Int) async throws(StoreError) -> [[Value]] {
    let sql = table.page(joining: Self.join, isFirst: key == nil) { "$\($0)" }
    return try await store.change { session throws(PostgreSQLFailure) in
      try session.rows(sql, (key ?? []).map(PostgreSQLValue.init) + [.integer(Int64(limit))]) {
        row throws(PostgreSQLError) in try Self.values(row, table.columns)
      }
    }
  }

  private static func values(
    _ row: PostgreSQLRow, _ columns: some Collection<CopiedTable.Column>
  ) throws(PostgreSQLError) -> [Value] {
    var values: [Value] = []
    for (number, column) in columns.enumerated() {
      switch column.form {
      case .integer: values.append(Value(try row.optionalInt(number)))
      case .text: values.append(Value(try row.optionalText(number)))
      case .bytes: values.append(Value(try row.optionalBytes(number)))
      }
    }
    return values
  }

  func last(of table: CopiedTable) async throws(StoreError) -> [Value]? {
    try await store.change { session throws(PostgreSQLFailure) in
      try session.rows(table.last(joining: Self.join), []) { row throws(PostgreSQLError) in
        try Self.values(row, table.columns.prefix(table.keyCount))
      }.first
    }
  }

  func count(_ table: CopiedTable) async throws(StoreError) -> Int {
    try await store.change { session throws(PostgreSQLFailure) in
      try session.rows(table.count(joining: Self.join), []) { row throws(PostgreSQLError) in try row.int(0) }[0]
    }
  }

  // MARK: Changes

  func add(_ rows: [[Value]], to table: CopiedTable) async throws(StoreError) {
    let owner = store.owner
    try await store.change { session throws(PostgreSQLFailure) -> Void in
      let own = table.isOutbox ? [PostgreSQLValue.integer(owner.current.number)] : []
      let casts = (table.columns.map(\.form) + own.map { _ in .integer }).enumerated().map { "$\($0 + 1)\($1.cast)" }
      let sql = """
        INSERT INTO \(table.name) (\(table.names)\(table.isOutbox ? ", owner" : "")) VALUES (\(casts.joined(separator: ", ")))
        """
      try session.all(rows.map { PostgreSQLStatement(sql, $0.map(PostgreSQLValue.init) + own) })
    }
  }

  func clear(_ mark: CopyMark) async throws(StoreError) {
    try await store.change { session throws(PostgreSQLFailure) -> Void in
      try session.all(
        CopiedTable.all.map { PostgreSQLStatement("DELETE FROM \($0.name)", isPrepared: false) } + Self.set(mark))
    }
  }

  func advance() async throws(StoreError) {
    try await store.change { session throws(PostgreSQLFailure) -> Void in
      try session.all([
        """
        SELECT setval('store_outbox_seq', greatest(o.last, s.last_value))
        FROM (SELECT max(number) AS last FROM store_outbox) o, store_outbox_seq s WHERE o.last IS NOT NULL
        """
      ])
    }
  }

  // MARK: Mark

  func mark() async throws(StoreError) -> CopyMark? { try await store.copyMark() }

  func setMark(_ mark: CopyMark?) async throws(StoreError) {
    try await store.change { session throws(PostgreSQLFailure) -> Void in try session.all(Self.set(mark)) }
  }

  private static func set(_ mark: CopyMark?) -> [PostgreSQLStatement] {
    let forget: PostgreSQLStatement = "DELETE FROM store_copy"
    guard let mark else { return [forget] }
    return [
      forget,
      PostgreSQLStatement(
        "INSERT INTO store_copy (id, target, other) VALUES ($1, $2::bigint <> 0, $3)",
        [.text(mark.id), .integer(mark.isTarget ? 1 : 0), .text(mark.other)]),
    ]
  }

  func close() async { await store.close() }
}

extension CopiedTable.Form {
  fileprivate var cast: String {
    switch self {
    case .integer: "::bigint"
    case .text: "::text"
    case .bytes: "::bytea"
    }
  }
}

extension PostgreSQLValue {
  init(_ value: Value) {
    switch value {
    case .null, .real: self = .null
    case .integer(let integer): self = .integer(integer)
    case .text(let text): self = .text(text)
    case .blob(let bytes): self = .bytes(bytes)
    }
  }
}

extension PostgreSQLStore {
  func copyMark() async throws(StoreError) -> CopyMark? {
    try await change { session throws(PostgreSQLFailure) in
      try session.rows(CopyMark.select, []) { row throws(PostgreSQLError) in
        CopyMark(id: try row.text(0), isTarget: try row.bool(1), other: try row.text(2))
      }.first
    }
  }

  /// Makes the database a service's own again: a copy of it that was interrupted is given up.
  package func endCopy() async throws(StoreError) {
    guard let mark = try await copyMark() else { return }
    if let error = StoreError.isPart(mark) { throw error }
    try await change { session throws(PostgreSQLFailure) -> Void in try session.all(["DELETE FROM store_copy"]) }
  }
}
