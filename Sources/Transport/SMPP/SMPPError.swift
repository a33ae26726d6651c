/// Failure to submit an SMS or to keep a session.
public struct SMPPError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Kind of failure. May grow.
  public enum Kind: Sendable, Hashable {
    /// The session is not connected.
    case notConnected
    /// TLS failed, or the server's certificate is not trusted.
    case tls
    /// The server refuses the account.
    case bindRefused(CommandStatus)
    /// The server answered with an error.
    case refused(CommandStatus)
    /// The server throttles. Retry after this time.
    case throttled(Duration)
    /// No response, or no place in the window, in time.
    case timedOut
    /// The connection ended.
    case connectionLost
    /// Too many submissions wait for the window.
    case overloaded
    /// The server broke the protocol.
    case protocolViolation
    /// A field of the SMS breaks the protocol's rules.
    case invalidMessage
    /// The calling task was canceled.
    case canceled
    /// The session was stopped.
    case closed
  }

  public let kind: Kind
  /// Whether the server may have taken the SMS without saying so. The meaning of an answer (`refused`) is not judged
  /// here.
  public let mayHaveBeenTaken: Bool
  /// One line, safe to log: no number, no text, no password.
  public let description: String

  /// Creates an error, for tests of callers.
  public init(_ kind: Kind, mayHaveBeenTaken: Bool = false, _ description: String) {
    self.kind = kind
    self.mayHaveBeenTaken = mayHaveBeenTaken
    self.description = description
  }

  static func invalid(_ what: String) -> SMPPError { SMPPError(.invalidMessage, what) }

  static let closed = SMPPError(.closed, "the session was stopped")
  static let overloaded = SMPPError(.overloaded, "too many messages wait for their turn")

  func inMidWindow(_ mayHaveBeenTaken: Bool) -> SMPPError {
    SMPPError(kind, mayHaveBeenTaken: mayHaveBeenTaken, description)
  }
}
