import CountersignTelemetry

/// Settings and limits of a connection or a pool.
public struct PostgreSQLOptions: Sendable, Hashable {
  /// Limit for connecting to one host: name, TCP, TLS and login together. Default: 5 s.
  public var connectTimeout = Duration.seconds(5)

  /// Limit for a statement, kept by the server (`statement_timeout`). Default: 10 s.
  public var statementTimeout = Duration.seconds(10)

  /// Limit for the wait for a lock (`lock_timeout`). Default: 2 s.
  public var lockTimeout = Duration.seconds(2)

  /// Limit for the silence of an open transaction (`idle_in_transaction_session_timeout`): a process that hangs inside one
  /// holds up all others that write the same rows. Default: 3 s.
  public var idleInTransactionTimeout = Duration.seconds(3)

  /// Time beyond the server's own limits after which a silent server counts as lost. Default: 2 s.
  public var answerGrace = Duration.seconds(2)

  /// Limit for all statements of one run together. Default: 30 s.
  public var runTimeout = Duration.seconds(30)

  /// Limit for sent data without acknowledgment, on this side (`tcp_user_timeout`). Default: 5 s.
  public var tcpUserTimeout = Duration.seconds(5)

  /// Time until the network's sign of life is asked for, and between questions. Two without an answer end the
  /// connection. Whole seconds. Default: 3 s and 2 s.
  public var keepaliveIdle = Duration.seconds(3)
  public var keepaliveInterval = Duration.seconds(2)

  /// The same limit for sent data on the server's side: it decides how soon the locks of a dead host are free.
  /// Default: 7 s.
  public var serverTCPUserTimeout = Duration.seconds(7)

  /// Schemas in which names without one are looked for, in order. Default: `countersign`.
  public var searchPath = ["countersign"]

  /// Further settings of the server for this connection, by their names. Default: none.
  public var settings: [String: String] = [:]

  /// Whether the server refuses changes on this connection. Default: false.
  public var isReadOnly = false

  /// Bounds of the delay before the next attempt to connect. Bodies fail at once meanwhile. Default: 50 ms to 1 s.
  public var reconnectDelay = Duration.milliseconds(50)...Duration.seconds(1)

  /// Maximum waiting bodies. One more fails at once with ``StoreError/Code/overloaded``. Default: 1,024.
  public var maxWaiting = 1_024

  /// The number of connections of a pool, 1...64, made when they are needed. Default: 4.
  public var maxReaders = 4

  /// Prepared statements kept by each connection. The one unused for longest makes room. Default: 256.
  public var maxStatements = 256

  /// The largest value, sent or received. Default: 16 MiB.
  public var maxValueBytes = 16 << 20

  /// The largest total of the values of one run, and of the results of one. Default: 64 MiB.
  public var maxRunBytes = 64 << 20

  public init() {}
}

extension PostgreSQLOptions {
  func check() throws(StoreError) {
    let longest = Duration.seconds(3600)
    for (name, value) in [
      ("connectTimeout", connectTimeout), ("statementTimeout", statementTimeout), ("lockTimeout", lockTimeout),
      ("idleInTransactionTimeout", idleInTransactionTimeout), ("answerGrace", answerGrace), ("runTimeout", runTimeout),
      ("tcpUserTimeout", tcpUserTimeout), ("serverTCPUserTimeout", serverTCPUserTimeout),
      ("reconnectDelay", reconnectDelay.lowerBound), ("reconnectDelay", reconnectDelay.upperBound),
    ] {
      try require(value >= .milliseconds(1) && value <= longest, "\(name) must be within 1 ms...1 h")
    }
    for (name, value) in [("keepaliveIdle", keepaliveIdle), ("keepaliveInterval", keepaliveInterval)] {
      try require(value >= .seconds(1) && value <= longest, "\(name) must be within 1 s...1 h")
    }
    try require(maxWaiting >= 1, "maxWaiting must be at least 1")
    try require((1...64).contains(maxReaders), "maxReaders must be within 1...64")
    try require(maxStatements >= 8, "maxStatements must be at least 8")
    try require((1...(256 << 20)).contains(maxValueBytes), "maxValueBytes must be within 1...256 MiB")
    try require((maxValueBytes...(1 << 30)).contains(maxRunBytes), "maxRunBytes must be within maxValueBytes...1 GiB")
  }

  private func require(_ condition: Bool, _ message: String) throws(StoreError) {
    if !condition { throw StoreError(.misuse, "options of PostgreSQL: \(message)") }
  }
}
