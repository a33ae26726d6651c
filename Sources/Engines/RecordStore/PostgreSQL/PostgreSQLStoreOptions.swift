public import CountersignTelemetry
public import PostgreSQL
public import SQLite

/// Limits of a ``PostgreSQLStore``.
public struct PostgreSQLStoreOptions: Sendable {
  /// Limits of its connections.
  public var connections: PostgreSQLOptions
  /// Interval at which the session asks for the server's time, and so whether it still lives.
  public var heartbeat = Duration.seconds(1)
  /// The host's clock.
  public var host: any WallClock = SystemClock()
  /// Is told when the clocks of host and server differ, and when the server's is set.
  public var logger: Logger?
  /// Is told the server and the end of its certificate, seconds since 1970, at each session that begins over TLS.
  public var onCertificate: @Sendable (ServerAddress, Int64) -> Void = { _, _ in }
  /// Age of the session's last answer from which nothing is published: well below the time in which the server finds a
  /// dead host, and others may claim what it had in hand.
  public var longestSilence = Duration.seconds(5)
  /// The service that uses the database, and whose it is from then on. `nil` to leave that open.
  public var kind: DatabaseKind?
  /// Whether no other store may use the database meanwhile: for a copy.
  public var isExclusive = false
  /// Waits before a transaction is repeated that met competition.
  /// - Parameter attempt: number of attempts so far.
  public var pause: @Sendable (_ attempt: Int) async -> Void = Self.shortPause

  /// - Parameter connections: limits of its connections.
  public init(_ connections: PostgreSQLOptions = PostgreSQLOptions()) {
    self.connections = connections
    self.connections.settings.merge(Self.settings) { given, _ in given }
  }

  /// Every statement has one plan, which finds its rows by an index however small or unknown the tables are: rows are
  /// taken in the order of the keys, and a plan that was made of an empty table stays right when it has grown.
  static let settings = [
    "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
    "enable_mergejoin": "off", "enable_bitmapscan": "off",
  ]

  /// A few milliseconds, more with each attempt, and never the same as another process waits.
  @Sendable
  public static func shortPause(_ attempt: Int) async {
    // A canceled task repeats at once: the transaction is not cancelable.
    try? await Task.sleep(for: .microseconds(Int.random(in: 500...(1_000 << min(attempt, 6)))))
  }
}

/// Figures of a ``PostgreSQLStore``, for metrics.
public struct PostgreSQLStoreStatus: Sendable {
  /// The connection that writes.
  public var session: PostgreSQLStatus
  /// The connections that read.
  public var readers: [PostgreSQLStatus]
  /// Transactions that met competition, by its kind, repeated ones included.
  public var conflicts: [String: Int]
  /// Transactions that were committed.
  public var commits: Int
  /// Time that they took, from the begin to the answer to the commit.
  public var commitTime: Duration
  /// Time by which the server's clock is ahead of the host's. Negative when it is behind.
  public var clockDifference: Duration
  /// Transactions since the oldest snapshot that any session holds, when ``Store/figures()`` were taken last: the server
  /// keeps every version of a row that was replaced since.
  public var oldestSnapshot: Int
}
