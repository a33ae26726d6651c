/// What a readiness check needs to know of a connection.
public struct ConnectionStatus: Sendable, Hashable, CustomStringConvertible {
  public enum Phase: String, Sendable, Hashable {
    /// Not connected, trying.
    case connecting
    /// Open and in use.
    case connected
    /// Open, but the broker does not read from it.
    case blocked
    /// A consumer that was paused.
    case paused
    /// Stopped on request.
    case stopped
  }

  /// Where the connection is in its life.
  public internal(set) var phase: Phase
  /// Why the connection is not up, or was lost the last time. Cleared when it is up again.
  public internal(set) var lastError: AMQPError?

  public var description: String {
    lastError.map { "\(phase.rawValue) (\($0))" } ?? phase.rawValue
  }
}
