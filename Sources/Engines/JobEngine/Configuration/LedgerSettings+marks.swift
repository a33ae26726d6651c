import CountersignTelemetry
import CrashMarks
import PostgreSQL
import RecordStore
import ServiceRuntime

extension LedgerSettings {
  /// Opens the marks of redelivered jobs: in the ledger, or without one in a file where it would be.
  func openMarks(
    in ledger: any Ledger, for context: ServiceContext, check: String = "ledger",
    sleep: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) async -> (any MarkStore)? {
    do {
      if let ledger = ledger as? SQLiteLedger { return try ledger.markStore() }
      if let postgresql { return try await marks(postgresql, context, check, sleep) }
      return try await RecordMarks.open(path: path + "-marks")
    } catch {
      context.logger.warning(
        "marks of redelivered jobs cannot be stored; the twentieth delivery of a job is its last",
        [.error: "\(error)", .hint: marksRemedy])
      return nil
    }
  }

  /// Waits until the server takes them: without marks now, they would be missing for the life of the process.
  private func marks(
    _ database: PostgreSQLSettings, _ context: ServiceContext, _ check: String,
    _ sleep: (Duration) async throws -> Void
  ) async throws -> any MarkStore {
    var endpoint = database.endpoint
    endpoint.applicationName = context.instance
    let wait = ServerWait(
      for: "the ledger's database", hint: "countersign store check shows what ledger.url lacks")
    context.health.register(check) { wait.health }
    return try await wait.run(logger: context.logger, sleep: sleep, end: Self.end) {
      [endpoint] () throws(StoreError) in
      try await RecordMarks.open(endpoint, options: database.options)
    }
  }

  /// A refused login may be temporary: the roles may not have been created yet.
  private static func end(_ error: StoreError) -> (any Error)? {
    [.schema, .misuse].contains(error.code) ? error : nil
  }

  private var marksRemedy: String {
    kind == .postgresql
      ? "run 'countersign store create' for the database of ledger.url, then start the worker again"
      : "set ledger.path to a file in a directory that this user may write to"
  }
}
