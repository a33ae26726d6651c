import CountersignTelemetry
public import PostgreSQL
import ServiceRuntime

/// The memory in the database of the ledger, which the push-workers of all hosts share.
///
/// The verdicts are more than a cache: a job that comes to another host after a crash must find its own there, and a
/// token that was assessed on one host must not pass on another.
struct PostgreSQLPushMemory: PushMemoryStore {
  private let connection: PostgreSQLConnection

  init(_ database: PostgreSQLSettings) throws(PostgreSQLError) {
    connection = try PostgreSQLConnection(database.endpoint, options: database.options)
  }

  static func open(_ database: PostgreSQLSettings) async throws(PostgreSQLError) -> PostgreSQLPushMemory {
    let memory = try PostgreSQLPushMemory(database)
    try await memory.connection.withSession { session throws(PostgreSQLError) in
      try PostgreSQLSchema.check([PushMemorySchemaPostgreSQL.part], session)
    }
    return memory
  }

  func environment(_ token: [UInt8]) async throws(AssessmentMemoryError) -> DeviceEnvironment? {
    try await ask { session throws(PostgreSQLError) in
      let rows = try session.run("SELECT environment FROM push_environment WHERE token = $1", [.bytes(token)])
      guard let row = rows.first else { return nil }
      return DeviceEnvironment(rawValue: try row.text(0))
    }
  }

  func remember(
    _ environment: DeviceEnvironment, _ token: [UInt8], at now: UnixTime
  ) async throws(AssessmentMemoryError) {
    try await change(
      """
      INSERT INTO push_environment (token, environment, written_at) VALUES ($1, $2, $3)
      ON CONFLICT (token) DO UPDATE SET environment = excluded.environment, written_at = excluded.written_at
      """, [.bytes(token), .text(environment.rawValue), .integer(now.milliseconds)])
  }

  func begin(
    _ token: [UInt8], jobID: String, at now: UnixTime
  ) async throws(AssessmentMemoryError) -> AssessmentStart {
    let job = Array(jobID.utf8)
    return try await ask { session throws(PostgreSQLError) in
      let results = try session.run([
        PostgreSQLStatement(
          """
          INSERT INTO push_assessment (token, job_id, written_at) VALUES ($1, $2, $3)
          ON CONFLICT (token) DO NOTHING
          """, [.bytes(token), .bytes(job), .integer(now.milliseconds)]),
        PostgreSQLStatement("SELECT job_id, verdict FROM push_assessment WHERE token = $1", [.bytes(token)]),
      ])
      guard results.count == 2, results[0].affected == 0 else { return .fresh }
      // Its owner released it in between: the next try of this job gets it.
      guard let row = results[1].first, try row.bytes(0) == job else { return .spent }
      let verdict = try row.optionalBytes(1).flatMap(AssessmentVerdict.init(json:))
      return verdict.map(AssessmentStart.assessed) ?? .uncertain
    }
  }

  func record(
    _ verdict: [UInt8], of token: [UInt8], jobID: String, at now: UnixTime
  ) async throws(AssessmentMemoryError) {
    try await change(
      "UPDATE push_assessment SET verdict = $1, written_at = $2 WHERE token = $3 AND job_id = $4",
      [.bytes(verdict), .integer(now.milliseconds), .bytes(token), .bytes(Array(jobID.utf8))])
  }

  func release(_ token: [UInt8], jobID: String) async throws(AssessmentMemoryError) {
    try await change(
      "DELETE FROM push_assessment WHERE token = $1 AND job_id = $2 AND verdict IS NULL",
      [.bytes(token), .bytes(Array(jobID.utf8))])
  }

  func verdict(of token: [UInt8], jobID: String) async throws(AssessmentMemoryError) -> AssessmentVerdict? {
    try await ask { session throws(PostgreSQLError) in
      let rows = try session.run(
        "SELECT verdict FROM push_assessment WHERE token = $1 AND job_id = $2",
        [.bytes(token), .bytes(Array(jobID.utf8))])
      return try rows.first?.optionalBytes(0).flatMap(AssessmentVerdict.init(json:))
    }
  }

  func purge(environments: UnixTime, assessments: UnixTime) async throws(AssessmentMemoryError) {
    try await ask { session throws(PostgreSQLError) -> Void in
      try session.run([
        Self.purge("push_environment", before: environments), Self.purge("push_assessment", before: assessments),
      ])
    }
  }

  func close() async { await connection.close() }

  /// Workers of all hosts forget at the same time, and each takes other rows.
  private static func purge(_ table: StaticString, before time: UnixTime) -> PostgreSQLStatement {
    PostgreSQLStatement(
      """
      DELETE FROM \(table) WHERE token IN (
        SELECT token FROM \(table) WHERE written_at < $1 ORDER BY written_at LIMIT $2 FOR UPDATE SKIP LOCKED)
      """, [.integer(time.milliseconds), .integer(PushMemory.purgeLimit)])
  }

  private func change(_ sql: String, _ values: [PostgreSQLValue]) async throws(AssessmentMemoryError) {
    try await ask { session throws(PostgreSQLError) -> Void in try session.run(sql, values) }
  }

  private func ask<Answer: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(PostgreSQLError) -> Answer
  ) async throws(AssessmentMemoryError) -> Answer {
    do throws(PostgreSQLError) {
      return try await connection.withSession(body)
    } catch {
      throw AssessmentMemoryError(description: error.description)
    }
  }
}

/// The memory's tables in PostgreSQL. The planner keeps no samples of tokens.
public enum PushMemorySchemaPostgreSQL {
  public static let part = PostgreSQLSchemaPart(
    "push",
    [
      """
      CREATE TABLE push_environment (
        token bytea PRIMARY KEY,
        environment text COLLATE "C" NOT NULL,
        written_at bigint NOT NULL
      );
      CREATE INDEX push_environment_by_written_at ON push_environment (written_at);
      CREATE TABLE push_assessment (
        token bytea PRIMARY KEY,
        job_id bytea NOT NULL,
        verdict bytea,
        written_at bigint NOT NULL
      );
      CREATE INDEX push_assessment_by_written_at ON push_assessment (written_at);
      ALTER TABLE push_environment ALTER COLUMN token SET STATISTICS 0;
      ALTER TABLE push_assessment ALTER COLUMN token SET STATISTICS 0;
      """
    ])
}
