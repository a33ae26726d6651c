import CommandEngine
import CountersignTelemetry
import CrashMarks
import PostgreSQL
import ServiceRuntime

/// The database of coordinators on a PostgreSQL server, which any number of them share.
struct PostgreSQLStorage: CoordinatorStorage {
  let isShared = true
  let hint = "countersign store check shows what the server lacks; docs/postgresql.md says what to do"
  private let store: PostgreSQLStore
  private let endpoint: PostgreSQLEndpoint
  private let options: PostgreSQLOptions
  private let wait: ServerWait
  private let logger: Logger

  /// Waits until the server takes a session.
  /// - Throws: ``StartError`` when an operator has to act before any attempt can succeed.
  static func open(_ settings: PostgreSQLSettings, _ context: ServiceContext) async throws -> PostgreSQLStorage {
    var endpoint = settings.endpoint
    endpoint.applicationName = context.instance
    let wait = ServerWait(for: "the database", hint: mend)
    context.health.register("database") { wait.health }
    let logger = context.logger.with(["database": endpoint.description])
    let store = try await wait.run(logger: logger, end: startError) { () throws(StoreError) in
      try await PostgreSQLStore.open(endpoint, options: PostgreSQLStoreOptions(settings.options))
    }
    PostgreSQLMetrics.register(store, in: context.metrics)
    return PostgreSQLStorage(
      store: store, endpoint: endpoint, options: settings.options, wait: wait, logger: logger)
  }

  private static let mend = "countersign store check shows what is missing; this process then goes on by itself"

  /// Reason to end the process: trying again changes nothing.
  static func startError(_ error: StoreError) -> StartError? {
    switch error.code {
    case .schema, .misuse: StartError(.configuration, error.message, mend: nil)
    default: nil
    }
  }

  /// Every message of an earlier version is in the store: tables of this kind were never others.
  func begin(_ carryOver: CarryOver, clock: any WallClock) async throws -> BegunStore {
    let isPart = try await wait.run(logger: logger, end: Self.startError) { () throws(StoreError) in
      try await StoreCopyMark.isSet(in: store)
    }
    guard !isPart else {
      throw StartError(
        .configuration, "the database holds a part of a SQLite database: its migration was interrupted",
        mend: "run 'countersign store migrate' again")
    }
    return BegunStore(store: store)
  }

  func attempt(_ part: () async throws(StoreError) -> Void) async throws {
    try await wait.run(logger: logger, end: Self.startError, part)
  }

  func marks() async throws -> any MarkStore {
    try await wait.run(logger: logger, end: Self.startError) { () throws(MarkError) in
      try await PostgreSQLMarkStore.open(endpoint, options: options)
    }
  }

  /// Reason to end the process: the tables of the marks are not those of this program.
  static func startError(_ error: MarkError) -> StartError? {
    error.isRetriable ? nil : StartError(.configuration, error.description, mend: nil)
  }

  /// Ends the session also when the store was never handed out.
  func close() async { await store.close() }
}

/// Figures of a store on a server.
enum PostgreSQLMetrics {
  static func register(_ store: PostgreSQLStore, in metrics: MetricsRegistry) {
    let all = { @Sendable in [store.status.session] + store.status.readers }
    metrics.gauge(
      "countersign_database_session", "Whether the session that writes to PostgreSQL is up: 1, or 0."
    ) { store.status.session.isConnected ? 1 : 0 }
    metrics.counter(
      "countersign_database_sessions_lost_total", "Connections to PostgreSQL that were lost."
    ) { Double(all().reduce(0) { $0 + $1.losses }) }
    metrics.counter(
      "countersign_database_connect_failures_total", "Attempts to connect to PostgreSQL that failed with every host."
    ) { Double(all().reduce(0) { $0 + $1.failedConnects }) }
    metrics.counter(
      "countersign_database_round_trips_total", "Requests that PostgreSQL answered, by the session and the readers."
    ) { Double(all().reduce(0) { $0 + $1.roundTrips }) }
    metrics.gauge(
      "countersign_database_waiting", "Calls that wait for a connection to PostgreSQL, or use one."
    ) { Double(all().reduce(0) { $0 + $1.waiting }) }
    metrics.counter(
      "countersign_database_transactions_total", "Transactions that were committed in PostgreSQL."
    ) { Double(store.status.commits) }
    metrics.counter(
      "countersign_database_transaction_seconds_total",
      "Time of those transactions, from the beginning to the answer to the commit."
    ) { store.status.commitTime / .seconds(1) }
    metrics.counter(
      "countersign_database_conflicts_total", "Transactions that met another coordinator's, and were done again."
    ) { Double(store.status.conflicts.values.reduce(0, +)) }
  }
}
