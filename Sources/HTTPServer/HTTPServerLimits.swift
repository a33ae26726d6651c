/// The bounds of what clients may take from a server.
public struct HTTPServerLimits: Sendable {
  /// Open connections; further clients wait in the kernel's backlog until one closes.
  public var connections: UInt32
  /// How long a connection may be silent between requests, or in the middle of one, before it is closed. Whole seconds.
  public var idleTimeout: Duration
  /// Memory of one connection for request line, headers and the answer's headers; a request with more gets 431 or is closed.
  public var connectionMemoryBytes: Int

  /// Makes the bounds.
  ///
  /// - Parameters:
  ///   - connections: Open connections, 1 to 65,535.
  ///   - idleTimeout: Whole seconds, at least 1.
  ///   - connectionMemoryBytes: At least 4,096.
  public init(connections: UInt32 = 1_024, idleTimeout: Duration = .seconds(60), connectionMemoryBytes: Int = 32_768) {
    precondition((1...65_535).contains(connections) && idleTimeout >= .seconds(1) && connectionMemoryBytes >= 4_096)
    self.connections = connections
    self.idleTimeout = idleTimeout
    self.connectionMemoryBytes = connectionMemoryBytes
  }
}
