/// Status of a connection, for readiness checks.
public struct ConnectionStatus: Sendable, Hashable, CustomStringConvertible {
  public enum Phase: String, Sendable, Hashable {
    /// Not connected; trying to connect.
    case connecting
    /// Open and in use.
    case connected
    /// Open, but the broker has stopped reading from it.
    case blocked
    /// Open, with a paused consumer.
    case paused
    /// Stopped on request.
    case stopped
  }

  /// Current phase of the connection.
  public internal(set) var phase: Phase
  /// Reason of the last failure or loss; `nil` while the connection is up.
  public internal(set) var lastError: AMQPError?

  public var description: String {
    lastError.map { "\(phase.rawValue) (\($0))" } ?? phase.rawValue
  }
}
