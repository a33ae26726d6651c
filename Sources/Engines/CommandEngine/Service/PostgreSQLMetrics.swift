import CountersignTelemetry
import PostgreSQL
import RecordStore

enum PostgreSQLMetrics {
  static func register(_ store: PostgreSQLStore, in metrics: MetricsRegistry) {
    let all = { @Sendable in [store.status.session] + store.status.readers }
    metrics.gauge(
      "countersign_database_session", "Whether the session that writes to PostgreSQL is up: 1, or 0."
    ) { store.status.session.isConnected ? 1 : 0 }
    metrics.gauge(
      "countersign_database_clock_difference_seconds",
      "How far the clock of the PostgreSQL server is ahead of this host's; negative when it is behind."
    ) { store.status.clockDifference / .seconds(1) }
    metrics.gauge(
      "countersign_database_oldest_snapshot_transactions",
      "Transactions since the oldest snapshot that any session of PostgreSQL holds; each keeps a dead row of every hot counter."
    ) { Double(store.status.oldestSnapshot) }
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
      "countersign_database_conflicts_total", "Transactions that met another process's, and were done again."
    ) { Double(store.status.conflicts.values.reduce(0, +)) }
  }
}
