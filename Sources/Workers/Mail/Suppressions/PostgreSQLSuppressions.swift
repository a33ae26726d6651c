import CountersignTelemetry
import JobEngine
public import PostgreSQL
import ServiceRuntime

/// Addresses that get no mail, in the database of the ledger, which the mail-workers of all hosts share.
struct PostgreSQLSuppressions: SuppressionStore {
  private let connection: PostgreSQLConnection

  init(_ database: PostgreSQLSettings) throws(PostgreSQLError) {
    connection = try PostgreSQLConnection(database.endpoint, options: database.options)
  }

  static func open(_ database: PostgreSQLSettings) async throws(WorkerError) -> PostgreSQLSuppressions {
    do throws(PostgreSQLError) {
      let list = try PostgreSQLSuppressions(database)
      try await list.connection.withSession { session throws(PostgreSQLError) in
        try PostgreSQLSchema.check([SuppressionSchemaPostgreSQL.part], session)
      }
      return list
    } catch {
      throw WorkerError(.storeUnavailable, "suppressions in ledger.url", error)
    }
  }

  func entry(of address: String) async throws(WorkerError) -> Suppression? {
    try await look("SELECT \(Self.columns) FROM suppression WHERE address = $1", [.bytes(Array(address.utf8))]).first
  }

  func add(_ entry: Suppression) async throws(WorkerError) {
    let values: [PostgreSQLValue] = [
      .bytes(Array(entry.address.utf8)), .integer(entry.since.milliseconds), .bytes(Array(entry.reason.utf8)),
      PostgreSQLValue(entry.providerCode.map { Array($0.utf8) }), .bytes(Array(entry.jobID.utf8)),
    ]
    _ = try await change(
      "INSERT INTO suppression (\(Self.columns)) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (address) DO NOTHING", values)
  }

  func entries(limit: Int) async throws(WorkerError) -> [Suppression] {
    try await look("SELECT \(Self.columns) FROM suppression ORDER BY since DESC LIMIT $1", [.integer(Int64(limit))])
  }

  func remove(_ address: String) async throws(WorkerError) -> Bool {
    try await change("DELETE FROM suppression WHERE address = $1", [.bytes(Array(address.utf8))]) > 0
  }

  func close() async { await connection.close() }

  private static let columns = "address, since, reason, provider_code, job_id"

  private func look(_ sql: String, _ values: [PostgreSQLValue]) async throws(WorkerError) -> [Suppression] {
    do throws(PostgreSQLError) {
      return try await connection.withSession { session throws(PostgreSQLError) in
        var entries: [Suppression] = []
        for row in try session.run(sql, values) { entries.append(try Self.suppression(row)) }
        return entries
      }
    } catch {
      throw .suppressions(cannotBe: "read", error)
    }
  }

  private func change(_ sql: String, _ values: [PostgreSQLValue]) async throws(WorkerError) -> Int {
    do throws(PostgreSQLError) {
      return try await connection.withSession { session throws(PostgreSQLError) in
        try session.run(sql, values).affected
      }
    } catch {
      throw .suppressions(cannotBe: "written", error)
    }
  }

  private static func suppression(_ row: PostgreSQLRow) throws(PostgreSQLError) -> Suppression {
    Suppression(
      address: text(try row.bytes(0)), since: UnixTime(milliseconds: Int64(try row.int(1))),
      reason: text(try row.bytes(2)), providerCode: try row.optionalBytes(3).map(text), jobID: text(try row.bytes(4)))
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// The list's table in PostgreSQL.
public enum SuppressionSchemaPostgreSQL {
  /// Texts are bytes: those of servers and of jobs may hold U+0000, which no text of PostgreSQL may. The planner keeps no
  /// samples of the addresses.
  public static let part = PostgreSQLSchemaPart(
    "suppressions",
    [
      """
      CREATE TABLE suppression (
        address bytea PRIMARY KEY,
        since bigint NOT NULL,
        reason bytea NOT NULL,
        provider_code bytea,
        job_id bytea NOT NULL
      );
      CREATE INDEX suppression_by_since ON suppression (since);
      ALTER TABLE suppression ALTER COLUMN address SET STATISTICS 0;
      """
    ])
}
