public import CountersignTelemetry

/// State of a connection, readable from any thread without waiting for it.
public struct PostgreSQLStatus: Sendable, Hashable {
  /// Number of connections made so far: grows with each new one, 0 before the first.
  public var generation = 0
  /// Whether the connection of this generation is open, as far as is known.
  public var isConnected = false
  /// Instant at which the last answered request of this connection was sent: the server has heard of us since. `nil`
  /// before the first answer of a generation.
  public var lastRoundTrip: ContinuousClock.Instant?
  /// The server that is connected, or was last.
  public var host: ServerAddress?
  /// The last failure to connect or loss of a connection. `nil` while all is well.
  public var lastError: StoreError?

  /// Requests that were answered.
  public var roundTrips = 0
  /// Statements that were answered.
  public var statements = 0
  /// Connections that were lost.
  public var losses = 0
  /// Attempts to connect that failed with all hosts.
  public var failedConnects = 0
  /// Bodies that wait or run now.
  public var waiting = 0

  public init() {}
}
