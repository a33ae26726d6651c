/// What happens to a session, for logs.
public enum SMPPEvent: Sendable, Hashable {
  /// The server let this account in.
  case bound
  /// There is no session; another attempt follows after a while.
  case disconnected(SMPPError, retryIn: Duration)
  /// The server asked for fewer messages: none goes out for so long.
  case paused(Duration)
  /// The session was stopped.
  case stopped
}

/// How a session is at the moment.
public enum SMPPStatus: Sendable, Hashable {
  /// A connection is being made.
  case connecting
  /// Messages can be sent.
  case bound
  /// There was no session to be had; the next attempt is a while away.
  case waiting(SMPPError)
  /// Stopped, or not begun.
  case stopped
}
