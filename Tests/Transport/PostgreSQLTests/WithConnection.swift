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

/// Lends a connection to an empty database of the shared server.
func withConnection<T>(
  _ options: PostgreSQLOptions = testOptions(),
  _ body: (PostgreSQLConnection, PostgreSQLEndpoint) async throws -> T
) async throws -> T {
  try await PrivatePostgreSQL.admit {
    try await withConnection(to: try await PrivatePostgreSQL.shared.database(), options, body)
  }
}

/// Lends a connection to a database.
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

/// The error of a body. Nil if it has none.
func failure<T>(_ body: () async throws(PostgreSQLError) -> T) async -> PostgreSQLError? {
  do throws(PostgreSQLError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}

/// Waits until the delay between attempts to connect is over, and one succeeds.
func waitUntilConnected(_ connection: PostgreSQLConnection) async throws {
  try await eventually("a connection") { await connection.failure(of: "SELECT 1") == nil }
}

extension PostgreSQLConnection {
  /// The first column of the first row of a statement, as an integer.
  func int(_ sql: String, _ values: [PostgreSQLValue] = []) async throws(PostgreSQLError) -> Int {
    try await withSession { session throws(PostgreSQLError) in try session.run(sql, values)[0].int(0) }
  }

  /// The error of a statement. Nil if it has none.
  func failure(of sql: String) async -> PostgreSQLError? {
    await failure { session throws(PostgreSQLError) in try session.run(sql) }
  }

  /// The error of a body outside of a transaction. Nil if it has none.
  func failure<T: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(PostgreSQLError) -> T
  ) async -> PostgreSQLError? {
    do throws(PostgreSQLError) {
      _ = try await withSession(body)
      return nil
    } catch {
      return error
    }
  }

  func execute(_ sql: String) async throws(PostgreSQLError) {
    try await withSession { session throws(PostgreSQLError) in try session.script(sql) }
  }
}

extension PostgreSQLSession {
  func int(_ sql: String) throws(PostgreSQLError) -> Int { try run(sql)[0].int(0) }
}
