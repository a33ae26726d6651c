import CountersignTelemetry
import CrashMarks
import PostgreSQL
import RecordStore
import SQLite
import ServiceRuntime

struct PostgreSQLStorage: ServiceStorage {
  let isShared = true
  var members: any MemberRegister { store }
  var session: (@Sendable () -> SessionState)? { { [store] in store.session(at: .now) } }
  let hint = "countersign store check shows what the server lacks; docs/postgresql.md says what to do"
  var clock: any WallClock { store.clock }
  private let store: PostgreSQLStore
  private let endpoint: PostgreSQLEndpoint
  private let options: PostgreSQLOptions
  private let wait: ServerWait
  private let logger: Logger

  /// Waits until the server takes a session.
  static func open(
    _ settings: PostgreSQLSettings, of kind: DatabaseKind, _ context: ServiceContext
  ) async throws -> PostgreSQLStorage {
    var endpoint = settings.endpoint
    endpoint.applicationName = context.instance
    let wait = ServerWait(for: "the database", hint: hint)
    context.health.register("database") { wait.health }
    let logger = context.logger.with(["database": endpoint.description])
    var options = PostgreSQLStoreOptions(settings.options)
    (options.kind, options.host, options.logger) = (kind, context.clock, logger)
    options.onCertificate = { [gauge = CertificateMetric.gauge(in: context.metrics)] server, end in
      gauge.with("database", server.description).set(Double(end))
    }
    let store = try await wait.run(logger: logger, end: startError) { [options] () throws(StoreError) in
      try await PostgreSQLStore.open(endpoint, options: options)
    }
    PostgreSQLMetrics.register(store, in: context.metrics)
    return PostgreSQLStorage(
      store: store, endpoint: endpoint, options: settings.options, wait: wait, logger: logger)
  }

  private static let hint = "countersign store check shows what is missing; this process then goes on by itself"

  /// Reason to end the process: trying again changes nothing.
  static func startError(_ error: StoreError) -> StartError? {
    switch error.code {
    case .schema, .misuse, .invalidURL: StartError(.configuration, error.message, hint: nil)
    default: nil
    }
  }

  func begin() async throws -> any Store {
    try await attempt { () throws(StoreError) in try await store.endCopy() }
    return store
  }

  func attempt(_ part: () async throws(StoreError) -> Void) async throws {
    try await wait.run(logger: logger, end: Self.startError, part)
  }

  func marks() async throws -> any MarkStore {
    try await wait.run(logger: logger, end: Self.startError) { () throws(StoreError) in
      try await RecordMarks.open(endpoint, options: options)
    }
  }

  /// Ends the session also when the store was never handed out.
  func close() async { await store.close() }
}
