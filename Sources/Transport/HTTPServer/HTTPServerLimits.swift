/// Limits for clients of a server.
public struct HTTPServerLimits: Sendable {
  /// Open connections. Further clients wait in the kernel's backlog until one closes.
  public var connections: UInt32
  /// Silence between requests, or within one, after which a connection is closed. Whole seconds.
  public var idleTimeout: Duration
  /// Open connections of one client (an IPv4 address, or an IPv6 network of 64 bits). Further ones are closed at once.
  /// `nil`: as many as there are.
  public var connectionsPerClient: Int?
  /// Whether an address, without port, is a proxy's: its connections are those of many clients, and bounded by
  /// ``connections`` only. Must not block.
  public var isProxy: @Sendable (String) -> Bool
  /// Time a request may take to arrive whole, from its first byte, and then the answer to be taken. In between the
  /// handler takes its time. The connection is closed then. `nil`: as long as it is not silent. Between requests only
  /// ``idleTimeout`` counts.
  public var requestTime: Duration?
  /// Memory of one connection for request line, headers and the answer's headers. A request with more gets 431 or is
  /// closed.
  public var connectionMemoryBytes: Int
  /// Bodies that may be longer than the server's `maxBodyBytes`. `nil`: none.
  public var longBodies: LongBodies?

  /// Longer bodies of some requests. They are refused before they are read, beyond their number.
  public struct LongBodies: Sendable {
    /// Number of them that are read or answered at a time.
    public var atOnce: Int
    /// Maximum bytes of a request's body, from its head. Must not block.
    public var maxBytes: @Sendable (HTTPServerRequest) -> Int

    /// Makes the limits.
    public init(atOnce: Int, maxBytes: @escaping @Sendable (HTTPServerRequest) -> Int) {
      self.atOnce = atOnce
      self.maxBytes = maxBytes
    }
  }

  /// Makes the bounds.
  ///
  /// - Parameters:
  ///   - connections: open connections, 1 to 65,535.
  ///   - connectionsPerClient: at least 1.
  ///   - idleTimeout: whole seconds, at least 1.
  ///   - requestTime: positive; kept within a second.
  ///   - connectionMemoryBytes: at least 4,096.
  ///   - isProxy: whether an address is a proxy's.
  public init(
    connections: UInt32 = 1_024, connectionsPerClient: Int? = nil, idleTimeout: Duration = .seconds(60),
    requestTime: Duration? = nil, connectionMemoryBytes: Int = 32_768,
    isProxy: @escaping @Sendable (String) -> Bool = { _ in false }
  ) {
    precondition((1...65_535).contains(connections) && idleTimeout >= .seconds(1) && connectionMemoryBytes >= 4_096)
    precondition(connectionsPerClient.map { $0 >= 1 } ?? true && requestTime.map { $0 > .zero } ?? true)
    self.connections = connections
    self.connectionsPerClient = connectionsPerClient
    self.idleTimeout = idleTimeout
    self.requestTime = requestTime
    self.connectionMemoryBytes = connectionMemoryBytes
    self.isProxy = isProxy
  }
}
