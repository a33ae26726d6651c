import CountersignTelemetry
import SQLite

/// The memory in an SQLite file that all push-workers of a host share.
struct SQLitePushMemory: PushMemoryStore {
  private let database: Database

  static func open(path: String) async throws(DatabaseError) -> SQLitePushMemory {
    SQLitePushMemory(
      database: try await Database.open(path: path, kind: .pushMemory, migrations: PushMemorySchema.migrations))
  }

  func environment(_ token: [UInt8]) async throws(AssessmentMemoryError) -> DeviceEnvironment? {
    try await read { session throws(DatabaseError) in try PushMemoryStatements.environment(token, session) }
  }

  func remember(
    _ environment: DeviceEnvironment, _ token: [UInt8], at now: UnixTime
  ) async throws(AssessmentMemoryError) {
    try await write { session throws(DatabaseError) in
      try PushMemoryStatements.remember(environment, token, now, session)
    }
  }

  func begin(
    _ token: [UInt8], jobID: String, at now: UnixTime
  ) async throws(AssessmentMemoryError) -> AssessmentStart {
    try await write { session throws(DatabaseError) in try PushMemoryStatements.begin(token, jobID, now, session) }
  }

  func record(
    _ verdict: [UInt8], of token: [UInt8], jobID: String, at now: UnixTime
  ) async throws(AssessmentMemoryError) {
    try await write { session throws(DatabaseError) in
      try PushMemoryStatements.record(verdict, token, jobID, now, session)
    }
  }

  func release(_ token: [UInt8], jobID: String) async throws(AssessmentMemoryError) {
    try await write { session throws(DatabaseError) in try PushMemoryStatements.release(token, jobID, session) }
  }

  func verdict(of token: [UInt8], jobID: String) async throws(AssessmentMemoryError) -> AssessmentVerdict? {
    try await read { session throws(DatabaseError) in try PushMemoryStatements.verdict(token, jobID, session) }
  }

  func purge(environments: UnixTime, assessments: UnixTime) async throws(AssessmentMemoryError) {
    try await write { session throws(DatabaseError) in
      try PushMemoryStatements.purge("environment", before: environments, session)
      try PushMemoryStatements.purge("assessment", before: assessments, session)
    }
  }

  func close() async { await database.close() }

  private func read<Answer: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> Answer
  ) async throws(AssessmentMemoryError) -> Answer {
    do throws(DatabaseError) {
      return try await database.read(body)
    } catch {
      throw AssessmentMemoryError(description: error.message)
    }
  }

  private func write<Answer: Sendable>(
    _ body: @escaping @Sendable (Session) throws(DatabaseError) -> Answer
  ) async throws(AssessmentMemoryError) -> Answer {
    do throws(DatabaseError) {
      return try await database.write(body)
    } catch {
      throw AssessmentMemoryError(description: error.message)
    }
  }
}
