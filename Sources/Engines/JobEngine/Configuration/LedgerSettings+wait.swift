import CountersignTelemetry
public import PostgreSQL
public import ServiceRuntime

extension LedgerSettings {
  /// Waits until the server of a ledger that hosts share lets the worker in and has its tables, as the broker is waited
  /// for. Other ledgers need no wait.
  ///
  /// - Parameters:
  ///   - context: the process, whose `/readyz` and log tell the reason meanwhile.
  ///   - parts: tables that the worker needs besides those of the ledger.
  ///   - sleep: waits between two attempts; a parameter for tests.
  /// - Throws: `.tablesMissing` or `.ledgerUnavailable` for what no waiting changes; the error of a canceled `sleep`.
  public func waitForServer(
    _ context: ServiceContext, parts: [PostgreSQLSchemaPart] = [],
    sleep: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) async throws {
    guard let settings = postgresql else { return }
    let wait = ServerWait(
      for: "the ledger's database",
      hint: "countersign store check shows what ledger.url lacks; this process then goes on by itself")
    context.health.register("ledger") { wait.health }
    try await wait.run(logger: context.logger, sleep: sleep, end: Self.end) { () throws(StoreError) in
      var endpoint = settings.endpoint
      endpoint.applicationName = context.instance
      let connection = try PostgreSQLConnection(endpoint, options: settings.options)
      let result: Result<Void, StoreError>
      do throws(StoreError) {
        result = .success(
          try await connection.withSession { session throws(StoreError) in
            try PostgreSQLSchema.check([LedgerSchemaPostgreSQL.part] + parts, session)
          })
      } catch {
        result = .failure(error)
      }
      await connection.close()
      try result.get()
    }
  }

  /// Waits for everything that an operator grants or fixes at the server.
  private static func end(_ error: StoreError) -> WorkerError? {
    let isFinal = [.schema, .misuse, .invalidURL].contains(error.code)
    return isFinal ? WorkerError(.ledgerUnavailable, "ledger.url", error) : nil
  }
}
