public import PostgreSQL
import Synchronization

/// One of the tables of records in a database: who may use which is up to the roles of the server.
public struct RecordPlace: Sendable {
  /// The crash marks of all processes.
  public static let marks = RecordPlace(
    "marks", "mark_record", PostgreSQLOwners(sort: 1_668_509_035, sequence: "mark_owner_seq"),
    comment: "Redelivered messages that processes work on. One lives as long as it holds the lock (1668509035, owner).")
  /// Memories of the workers, which coordinators learn nothing about.
  public static let workers = RecordPlace(
    "workers", "worker_record", nil, comment: "Tokens that push-workers know, and addresses that get no mail.")

  /// Tables of the place.
  public let part: PostgreSQLSchemaPart
  let table: String
  let owners: PostgreSQLOwners?

  /// The planner keeps no samples of tokens and addresses.
  private init(_ name: String, _ table: String, _ owners: PostgreSQLOwners?, comment: String) {
    (self.table, self.owners) = (table, owners)
    let sequence = owners.map { "CREATE SEQUENCE \($0.sequence) MAXVALUE 2147483647 NO CYCLE;" }
    let script = """
      \(sequence ?? "")
      CREATE TABLE \(table) (
        kind text COLLATE "C" NOT NULL,
        key bytea NOT NULL,
        owner bigint NOT NULL,
        written bigint NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (kind, key, owner)
      );
      CREATE INDEX \(table)_written ON \(table) (kind, written);
      ALTER TABLE \(table) ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
      COMMENT ON TABLE \(table) IS '\(comment)';
      """
    part = PostgreSQLSchemaPart(name, [script])
  }
}

/// The owner of a record is a session of the server. A process that has lost its session and has another one takes its
/// records along: it has not died.
struct PostgreSQLTable: TableBackend {
  let lock = "FOR UPDATE SKIP LOCKED"
  private let connection: PostgreSQLConnection
  private let owner: TableOwner

  static func open(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions, _ place: RecordPlace
  ) async throws(StoreError) -> PostgreSQLTable {
    let table = try PostgreSQLTable(endpoint, options, place)
    do throws(StoreError) {
      try await table.connection.withSession { session throws(StoreError) -> Void in
        try session.run("SELECT 1")
      }
      return table
    } catch {
      await table.connection.close()
      throw error
    }
  }

  private init(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions, _ place: RecordPlace
  ) throws(StoreError) {
    let owner = TableOwner(place)
    self.owner = owner
    connection = try PostgreSQLConnection(endpoint, options: options) { session throws(StoreError) in
      try owner.begin(session)
    }
  }

  func run(
    _ make: @escaping @Sendable (_ own: Int64) -> [TableStatement]
  ) async throws(StoreError) -> [TableResult] {
    let owner = owner
    return try await connection.withSession { session throws(StoreError) -> [TableResult] in
      let statements = make(owner.number)
      // Once for all records that are found, and behind them: an owner lives before it writes.
      let look = statements.contains(where: \.isQuery) ? owner.look : []
      var results = try session.run(
        statements.map { PostgreSQLStatement($0.sql, $0.values.map(PostgreSQLValue.init)) } + look)
      var living: Set<Int64> = []
      if !look.isEmpty { for row in results.removeLast() { living.insert(Int64(try row.int(0))) } }
      var answers: [TableResult] = []
      for (statement, rows) in zip(statements, results) {
        var answer = TableResult(affected: rows.affected)
        if statement.isQuery { for row in rows { answer.records.append(try owner.record(row, living)) } }
        answers.append(answer)
      }
      return answers
    }
  }

  func close() async {
    let owner = owner
    // The server would notice the end of the connection a little later; a session that fails here has ended already.
    await connection.close { session throws(StoreError) in try owner.end(session) }
  }
}

/// The owner of a process's records: the number of its session. 0 in a table without owners.
private final class TableOwner: Sendable {
  private let place: RecordPlace
  private let current = Mutex<Int64>(0)

  init(_ place: RecordPlace) {
    self.place = place
  }

  var number: Int64 { current.withLock { $0 } }

  var look: [PostgreSQLStatement] { place.owners.map { [PostgreSQLStatement("SELECT unnest(\($0.living))")] } ?? [] }

  func begin(_ session: PostgreSQLSession) throws(StoreError) {
    try PostgreSQLSchema.check([place.part], session)
    guard let owners = place.owners else { return }
    let number = try owners.enroll(session)
    let former = self.number
    if former > 0 {
      try session.run(
        "UPDATE \(place.table) SET owner = $2 WHERE owner = $1", [.integer(former), .integer(number)])
    }
    current.withLock { $0 = number }
  }

  func end(_ session: PostgreSQLSession) throws(StoreError) { try place.owners?.end(number, session) }

  func record(_ row: PostgreSQLRow, _ living: Set<Int64>) throws(StoreError) -> TableRecord {
    let owner = Int64(try row.int(2))
    return TableRecord(
      RecordKind(stored: try row.text(0)), try row.bytes(1), state: state(of: owner, living), owner: owner,
      writtenAt: try row.time(3), body: try row.bytes(4))
  }

  private func state(of owner: Int64, _ living: Set<Int64>) -> OwnerState {
    if owner == 0 { return .nobody }
    if owner == number { return .ourselves }
    return living.contains(owner) ? .living : .dead
  }
}
