/// A change in the life of a connection, for logs and metrics. `description` is safe to log.
public enum ConnectionEvent: Sendable, Hashable, CustomStringConvertible {
  /// The connection and its channel are open and prepared, at this host of the broker.
  case connected(BrokerHost)
  /// The broker has taken the login over TLS. Ends of the certificates, seconds since 1970.
  case certificates([BrokerCertificate: Int64], at: BrokerHost)
  /// The attempt at this host failed or the connection to it was lost. The next attempt, at the next host, follows after
  /// `retryIn`.
  case disconnected(AMQPError, at: BrokerHost, retryIn: Duration)
  /// The broker closed the channel, which was opened again.
  case channelReopened(AMQPError)
  /// The broker refused a publication. The channel was replaced, because a new one may be able to send it.
  case channelRenewed
  /// The broker has stopped reading from this connection for now.
  case blocked(reason: String)
  /// The broker reads again.
  case unblocked
  /// The broker canceled the consumer of `queue`.
  case consumerCanceled(queue: String)
  /// `queue` has messages and consumers with room, but delivers none. The connection is replaced.
  case consumerStalled(queue: String)
  /// A publication made the broker close the connection each time, the last times sent alone. It was given up.
  case publicationGivenUp(AMQPError)
  /// The connection was closed on request and stays closed.
  case stopped

  public var description: String {
    switch self {
    case .connected(let host): "connected to \(host)"
    case .certificates(_, let host): "TLS is up with \(host)"
    case .disconnected(let error, let host, let delay):
      "disconnected from \(host) (\(error)), next attempt in \(delay)"
    case .channelReopened(let error): "channel closed by the broker (\(error)) and opened again"
    case .channelRenewed: "channel replaced, because the broker refused a publication"
    case .blocked(let reason): "blocked by the broker (\(reason))"
    case .unblocked: "unblocked by the broker"
    case .consumerCanceled(let queue): "the broker canceled the consumer of queue '\(queue)'"
    case .consumerStalled(let queue): "queue '\(queue)' has messages but delivers none"
    case .publicationGivenUp(let error): "gave up a publication that makes the broker close the connection (\(error))"
    case .stopped: "stopped"
    }
  }
}

/// Certificate of one side of a TLS connection to the broker.
public enum BrokerCertificate: String, Sendable, Hashable {
  case broker
  /// Ours, if the broker requires one.
  case client
}

/// Status of a connection, for readiness checks.
public struct ConnectionStatus: Sendable, Hashable, CustomStringConvertible {
  public enum Phase: String, Sendable, Hashable {
    /// Not connected. Trying to connect.
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
  /// Reason of the last failure or loss. `nil` while the connection is up. With several hosts, a failure that waiting
  /// does not fix, such as a refused password, stays until each host has been tried again.
  public internal(set) var lastError: AMQPError?
  /// Host of the open connection, else that of `lastError`.
  public internal(set) var host: BrokerHost?

  public var description: String {
    guard let lastError else { return phase.rawValue }
    guard let place = host?.description, !lastError.message.contains(place) else {
      return "\(phase.rawValue) (\(lastError))"
    }
    return "\(phase.rawValue) (\(place): \(lastError))"
  }
}
