import CountersignTelemetry
import SQLite

/// The place of a ``RecordTable``. Placeholders are `$1`, `$2` …, in the order in which they occur first.
protocol TableBackend: Sendable {
  /// Ending of a query for rows to delete.
  var lock: String { get }

  /// Runs the statements in one commit. `own` is the number under which this process owns records.
  func run(
    _ make: @escaping @Sendable (_ own: Int64) -> [TableStatement]
  ) async throws(StoreError) -> [TableResult]

  func close() async
}

struct TableStatement: Sendable {
  let sql: String
  let values: [Value]
  /// Whether it returns records. Otherwise it changes rows.
  let isQuery: Bool

  init(_ sql: String, _ values: [Value], isQuery: Bool = false) {
    (self.sql, self.values, self.isQuery) = (sql, values, isQuery)
  }
}

struct TableResult: Sendable {
  var affected = 0
  var records: [TableRecord] = []
}

struct SQLiteTable: TableBackend {
  let lock = ""
  private let database: Database
  /// `nil` where no record has an owner.
  private let owners: OwnerLocks?
  private let isOwnFile: Bool

  static func open(_ path: String, _ kind: DatabaseKind, hasOwners: Bool) async throws(StoreError) -> SQLiteTable {
    let database = try await Database.open(
      path: path, kind: kind, migrations: [Migration(version: 1, sql: RecordTable.schema)])
    do throws(StoreError) {
      let owners = try hasOwners ? OwnerLocks(path: path) : nil
      return SQLiteTable(database: database, owners: owners, isOwnFile: true)
    } catch {
      await database.close()
      throw error
    }
  }

  static func using(_ database: Database) throws(StoreError) -> SQLiteTable {
    return SQLiteTable(database: database, owners: try OwnerLocks(path: database.path), isOwnFile: false)
  }

  func run(
    _ make: @escaping @Sendable (_ own: Int64) -> [TableStatement]
  ) async throws(StoreError) -> [TableResult] {
    let (owners, statements) = (owners, make(owners?.own ?? 0))
    let body: @Sendable (Session) throws(StoreError) -> [TableResult] = { session throws(StoreError) in
      var results: [TableResult] = []
      for statement in statements {
        if statement.isQuery {
          let records = try session.query(statement.sql, statement.values) { row throws(StoreError) in
            Self.record(row, owners)
          }
          results.append(TableResult(records: records))
        } else {
          results.append(TableResult(affected: try session.execute(statement.sql, statement.values)))
        }
      }
      return results
    }
    return try await statements.allSatisfy(\.isQuery) ? database.read(body) : database.write(body)
  }

  private static func record(_ row: Row, _ owners: OwnerLocks?) -> TableRecord {
    let owner = Int64(row.int(2))
    return TableRecord(
      RecordKind(stored: row.text(0)), row.blob(1), state: state(of: owner, owners), owner: owner,
      writtenAt: UnixTime(milliseconds: Int64(row.int(3))), body: row.blob(4))
  }

  /// In doubt an owner is living: what it left is not touched.
  private static func state(of owner: Int64, _ owners: OwnerLocks?) -> OwnerState {
    guard owner != 0, let owners else { return .nobody }
    if owner == owners.own { return .ourselves }
    return owners.isLiving(owner) ? .living : .dead
  }

  func close() async {
    if isOwnFile { await database.close() }
    owners?.end()
  }
}
