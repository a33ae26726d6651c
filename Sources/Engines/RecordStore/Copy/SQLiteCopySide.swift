package import CountersignTelemetry
import Glibc
import SQLite

extension CopySide {
  /// Opens the file of any service on the engine.
  static func open(_ path: String, creating kind: DatabaseKind?) async throws(StoreError) -> CopySide {
    let isThere = exists(path)
    guard isThere || kind != nil else {
      throw StoreError(.content, "\(path) does not exist, is empty, or you may not look at it")
    }
    do throws(StoreError) {
      guard let owner = try FileOwner.claim(path) else {
        throw StoreError(.busy, "a process has \(path): stop it first")
      }
      let (kind, database) = try await open(path, isThere ? DatabaseKind.services : [kind].compactMap { $0 })
      let store: SQLiteStore
      do throws(StoreError) { store = try await SQLiteStore(in: database) } catch {
        await database.close()
        throw StoreError(.cannotOpen, error.message)
      }
      return CopySide(kind: kind, name: database.path, store: store) {
        await store.close()
        await database.close()
        owner.release()
      }
    } catch {
      throw error.code == .otherKind ? StoreError(.content, error.message) : error
    }
  }

  /// Whether there is a file that is not empty: opened, one that is would become the service's.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_size > 0
  }

  private static func open(
    _ path: String, _ kinds: [DatabaseKind]
  ) async throws(StoreError) -> (DatabaseKind, Database) {
    var refusal = StoreError(.misuse, "a file is of no service")
    for kind in kinds {
      do throws(StoreError) {
        return (kind, try await Database.open(path: path, kind: kind, migrations: ServiceSchema.migrations))
      } catch {
        guard error.code == .otherKind else { throw error }
        refusal = error
      }
    }
    throw refusal
  }
}

extension SQLiteStore: CopyStore {
  var advance: String {
    """
    UPDATE store_sequence SET last = max(last, (SELECT coalesce(max(number), 0) FROM store_outbox))
    WHERE name = 'outbox'
    """
  }

  func join(_ table: CopiedTable) -> String {
    "r.number = t.record" + (table.name == "store_group" ? " AND r.id = t.id" : "")
  }

  func inserts(_ rows: [[Value]], into table: CopiedTable) -> [CopyStatement] {
    let places = (1...table.columns.count).map { "$\($0)" }.joined(separator: ", ")
    switch table.name {
    case "store_record":
      let next = CopyStatement("UPDATE store_sequence SET last = last + 1 WHERE name = 'record'")
      let insert = """
        INSERT INTO store_record (\(table.names), number)
        SELECT \(places), last FROM store_sequence WHERE name = 'record'
        """
      return rows.flatMap { [next, CopyStatement(insert, $0)] }
    case "store_outbox":
      let insert = "INSERT INTO store_outbox (\(table.names), owner) VALUES (\(places), \(owners.own))"
      return [CopyStatement(SQLiteOutbox.lower, [0, .integer(owners.own)])] + rows.map { CopyStatement(insert, $0) }
    case _ where table.leadsToRecord:
      let isGroup = table.name == "store_group"
      let insert = """
        INSERT INTO \(table.name) (key\(isGroup ? ", id" : ""), record)
        SELECT $1\(isGroup ? ", $2" : ""), number FROM store_record WHERE id = $2 AND kind = $3
        """
      return rows.map { CopyStatement(insert, $0 + [.text(Self.kind(ofKey: $0[0]))]) }
    default: return rows.map { CopyStatement("INSERT INTO \(table.name) (\(table.names)) VALUES (\(places))", $0) }
    }
  }

  /// The kind of a key's record, with which the key begins.
  private static func kind(ofKey key: Value) -> String {
    guard case .blob(let bytes) = key else { return "" }
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
  }

  func query(_ statement: CopyStatement, _ forms: [CopiedTable.Form]) async throws(StoreError) -> [[Value]] {
    try await look { session throws(StoreError) in
      try session.query(statement.sql, statement.values) { row in
        forms.enumerated().map { column, form -> Value in
          if row.isNull(column) { return .null }
          return switch form {
          case .integer: Value(row.int(column))
          case .text: .text(row.text(column))
          case .bytes: .blob(row.blob(column))
          }
        }
      }
    }
  }

  func execute(_ statements: [CopyStatement]) async throws(StoreError) {
    try await change { session throws(StoreError) -> Void in
      for statement in statements { try session.execute(statement.sql, statement.values) }
    }
  }

  /// Makes the file a service's own again.
  package func endCopy() async throws(StoreError) { try await CopyMark.end(in: self) }
}
