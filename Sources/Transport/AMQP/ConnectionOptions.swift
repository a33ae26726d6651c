/// Time and size limits of one connection.
public struct ConnectionOptions: Sendable {
  /// Bounds of the delay before the next attempt to connect.
  public struct ReconnectDelay: Sendable, Hashable {
    /// Upper bound of the first delay. Doubles with each failure.
    public var min: Duration
    /// Upper bound of every delay.
    public var max: Duration

    public init(min: Duration = .milliseconds(200), max: Duration = .seconds(15)) {
      precondition(min > .zero && min <= max, "the bounds must be positive and in order")
      self.min = min
      self.max = max
    }
  }

  /// Connection name shown by the broker.
  public var name: String
  /// Heartbeat interval, whole seconds, 1 s...600 s. The broker may shorten it; silence for two intervals ends a
  /// connection.
  public var heartbeat: Duration
  /// Limit for the TCP connection and the TLS handshake together. With several hosts, an attempt has 3 s for these and
  /// the login; after each round in which no host answered in time it has twice as much, up to this.
  public var connectTimeout: Duration
  /// Limit for the login, and for each answer of the broker.
  public var rpcTimeout: Duration
  /// Maximum time a library call may go without progress, then the socket is shut down.
  public var publishStallTimeout: Duration
  /// Maximum time a publish may stay unconfirmed, then the connection is replaced, unless the broker is blocked.
  public var confirmTimeout: Duration
  /// Delay before the next attempt to connect, with full jitter.
  public var reconnectDelay: ReconnectDelay
  /// Maximum length of a sent body, and of a received body that is kept.
  public var maxBodyBytes: Int
  /// The password as it is now, asked for before each login. Where it is `nil`, the endpoint's is sent.
  public var password: (@Sendable () -> String?)?

  public init(
    name: String, heartbeat: Duration = .seconds(20), connectTimeout: Duration = .seconds(10),
    rpcTimeout: Duration = .seconds(10), publishStallTimeout: Duration = .seconds(15),
    confirmTimeout: Duration = .seconds(30), reconnectDelay: ReconnectDelay = ReconnectDelay(),
    maxBodyBytes: Int = 4 << 20
  ) {
    precondition(heartbeat >= .seconds(1) && heartbeat <= .seconds(600), "heartbeat must be 1 s...600 s")
    precondition(connectTimeout > .zero && rpcTimeout > .zero, "time-outs must be positive")
    precondition(publishStallTimeout > .zero && confirmTimeout > .zero, "time-outs must be positive")
    precondition(maxBodyBytes > 0, "maxBodyBytes must be positive")
    self.name = name
    self.heartbeat = heartbeat
    self.connectTimeout = connectTimeout
    self.rpcTimeout = rpcTimeout
    self.publishStallTimeout = publishStallTimeout
    self.confirmTimeout = confirmTimeout
    self.reconnectDelay = reconnectDelay
    self.maxBodyBytes = maxBodyBytes
  }
}
