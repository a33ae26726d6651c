/// A change in the life of a connection, for logs and metrics. `description` is safe to log.
public enum ConnectionEvent: Sendable, Hashable, CustomStringConvertible {
  /// The connection and its channel are open and prepared.
  case connected
  /// The attempt failed or the connection was lost; the next attempt follows after `retryIn`.
  case disconnected(AMQPError, retryIn: Duration)
  /// The broker closed the channel, which was opened again.
  case channelReopened(AMQPError)
  /// The broker has stopped reading from this connection for now.
  case blocked(reason: String)
  /// The broker reads again.
  case unblocked
  /// The broker canceled the consumer of `queue`.
  case consumerCanceled(queue: String)
  /// `queue` has messages and consumers with room, but delivers none; the connection is replaced.
  case consumerStalled(queue: String)
  /// A publication made the broker close the connection each time, the last times sent alone; it was given up.
  case publicationGivenUp(AMQPError)
  /// The connection was closed on request and stays closed.
  case stopped

  public var description: String {
    switch self {
    case .connected: "connected"
    case .disconnected(let error, let delay): "disconnected (\(error)), next attempt in \(delay)"
    case .channelReopened(let error): "channel closed by the broker (\(error)) and opened again"
    case .blocked(let reason): "blocked by the broker (\(reason))"
    case .unblocked: "unblocked by the broker"
    case .consumerCanceled(let queue): "the broker canceled the consumer of queue '\(queue)'"
    case .consumerStalled(let queue): "queue '\(queue)' has messages but delivers none"
    case .publicationGivenUp(let error): "gave up a publication that makes the broker close the connection (\(error))"
    case .stopped: "stopped"
    }
  }
}

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
