/// A change of a session, for logs.
public enum SMPPEvent: Sendable, Hashable {
  /// The server accepted the account.
  case bound
  /// The session was lost. Another attempt follows.
  case disconnected(SMPPError, retryIn: Duration)
  /// The server throttles: the session pauses for this time.
  case paused(Duration)
  /// The session was stopped.
  case stopped
}

/// State of a session.
public enum SMPPStatus: Sendable, Hashable {
  /// A connection is being established.
  case connecting
  /// SMS can be submitted.
  case bound
  /// The last attempt failed. The next one is scheduled.
  case waiting(SMPPError)
  /// Stopped, or not started.
  case stopped
}
