package import CountersignTelemetry
import PostgreSQL
import SQLite

extension CopySide {
  /// Opens a database of a server.
  static func open(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions, creating kind: DatabaseKind?
  ) async throws(StoreError) -> CopySide {
    var settings = PostgreSQLStoreOptions(options)
    settings.isExclusive = true
    settings.kind = kind
    // Deleting and counting everything take longer than a batch.
    settings.connections.statementTimeout = .seconds(600)
    settings.connections.runTimeout = .seconds(900)
    let store = try await PostgreSQLStore.open(endpoint, options: settings)
    do throws(StoreError) {
      let found = try await store.query(CopyStatement("SELECT name FROM store_service"), [.text]).first
      var kind: DatabaseKind?
      if case .text(let name)? = found?.first { kind = DatabaseKind(service: name) }
      return CopySide(kind: kind, name: endpoint.description, store: store) { await store.close() }
    } catch {
      await store.close()
      throw error
    }
  }
}

extension PostgreSQLStore: CopyStore {
  var advance: String {
    """
    SELECT setval('store_outbox_seq', greatest(o.last, s.last_value))
    FROM (SELECT max(number) AS last FROM store_outbox) o, store_outbox_seq s WHERE o.last IS NOT NULL
    """
  }

  /// A key begins with the kind of its record, and a dot.
  func join(_ table: CopiedTable) -> String {
    "r.id = t.id AND r.kind = convert_from(substring(t.key FROM 1 FOR position('\\x2e'::bytea IN t.key) - 1), 'UTF8')"
  }

  func inserts(_ rows: [[Value]], into table: CopiedTable) -> [CopyStatement] {
    let own: [Value] = table.isOutbox ? [.integer(owner.current.number)] : []
    let casts = (table.columns.map(\.form) + own.map { _ in .integer }).enumerated().map { "$\($0 + 1)\($1.cast)" }
    let sql = """
      INSERT INTO \(table.name) (\(table.names)\(table.isOutbox ? ", owner" : "")) VALUES (\(casts.joined(separator: ", ")))
      """
    return rows.map { CopyStatement(sql, $0 + own) }
  }

  func query(_ statement: CopyStatement, _ forms: [CopiedTable.Form]) async throws(StoreError) -> [[Value]] {
    try await change { session throws(StoreError) in
      try session.rows(statement.sql, statement.values.map(PostgreSQLValue.init)) {
        row throws(StoreError) -> [Value] in
        var values: [Value] = []
        for (number, form) in forms.enumerated() {
          switch form {
          case .integer: values.append(Value(try row.optionalInt(number)))
          case .text: values.append(Value(try row.optionalText(number)))
          case .bytes: values.append(Value(try row.optionalBytes(number)))
          }
        }
        return values
      }
    }
  }

  func execute(_ statements: [CopyStatement]) async throws(StoreError) {
    try await change { session throws(StoreError) -> Void in
      try session.run(statements.map { PostgreSQLStatement($0.sql, $0.values.map(PostgreSQLValue.init)) })
    }
  }

  /// Makes the database a service's own again.
  package func endCopy() async throws(StoreError) { try await CopyMark.end(in: self) }
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
