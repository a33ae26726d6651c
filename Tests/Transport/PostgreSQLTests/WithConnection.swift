import PostgreSQL
import TestSupport
import Testing

/// Options for tests: no schema of its own, short pauses, and limits that a busy machine does not reach.
func testOptions(_ change: (inout PostgreSQLOptions) -> Void = { _ in }) -> PostgreSQLOptions {
  var options = PostgreSQLOptions.patient
  options.searchPath = ["public"]
  options.reconnectDelay = .milliseconds(1)...Duration.milliseconds(20)
  change(&options)
  return options
}

func withConnection<T>(
  _ options: PostgreSQLOptions = testOptions(),
  _ body: (PostgreSQLConnection, PostgreSQLEndpoint) async throws -> T
) async throws -> T {
  try await PrivatePostgreSQL.admit {
    try await withConnection(to: try await PrivatePostgreSQL.shared.database(), options, body)
  }
}

func withConnection<T>(
  to endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions = testOptions(),
  _ body: (PostgreSQLConnection, PostgreSQLEndpoint) async throws -> T
) async throws -> T {
  try await PrivatePostgreSQL.admit {
    let connection = try PostgreSQLConnection(endpoint, options: options)
    do {
      let result = try await body(connection, endpoint)
      await connection.close()
      return result
    } catch {
      await connection.close()
      throw error
    }
  }
}

func failure<T>(_ body: () async throws(StoreError) -> T) async -> StoreError? {
  do throws(StoreError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}

func waitUntilConnected(_ connection: PostgreSQLConnection) async throws {
  try await eventually("a connection") { await connection.failure(of: "SELECT 1") == nil }
}

extension PostgreSQLConnection {
  func int(_ sql: String, _ values: [PostgreSQLValue] = []) async throws(StoreError) -> Int {
    try await withSession { session throws(StoreError) in try session.run(sql, values)[0].int(0) }
  }

  func failure(of sql: String) async -> StoreError? {
    await failure { session throws(StoreError) in try session.run(sql) }
  }

  func failure<T: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T
  ) async -> StoreError? {
    do throws(StoreError) {
      _ = try await withSession(body)
      return nil
    } catch {
      return error
    }
  }

  func execute(_ sql: String) async throws(StoreError) {
    try await withSession { session throws(StoreError) in try session.script(sql) }
  }
}

extension PostgreSQLSession {
  func int(_ sql: String) throws(StoreError) -> Int { try run(sql)[0].int(0) }
}
