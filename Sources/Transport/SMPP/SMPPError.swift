/// Why a message was not taken by the server, or why there is no session.
public struct SMPPError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What went wrong. More may come.
  public enum Kind: Sendable, Hashable {
    /// There is no session with the server at the moment.
    case notConnected
    /// No encrypted connection, or the server's certificate is not one to trust.
    case tls
    /// The server does not let this account in.
    case bindRefused(CommandStatus)
    /// The server answered with an error.
    case refused(CommandStatus)
    /// The server has asked for fewer messages; it should not be asked before so long.
    case throttled(Duration)
    /// No answer, or no turn, in time.
    case timedOut
    /// The connection ended.
    case connectionLost
    /// Too many messages wait for their turn.
    case overloaded
    /// The server broke the protocol.
    case protocolViolation
    /// A field of the message breaks the protocol's rules.
    case invalidMessage
    /// The calling task was canceled.
    case canceled
    /// The session was stopped.
    case closed
  }

  public let kind: Kind
  /// Whether the server may have taken the message without saying so. What a server means by an answer (`refused`) is not
  /// judged here.
  public let mayHaveBeenTaken: Bool
  /// One line, safe to log: no number, no text, no password.
  public let description: String

  /// Makes an error, as tests of a caller do.
  public init(_ kind: Kind, mayHaveBeenTaken: Bool = false, _ description: String) {
    self.kind = kind
    self.mayHaveBeenTaken = mayHaveBeenTaken
    self.description = description
  }

  static func invalid(_ what: String) -> SMPPError { SMPPError(.invalidMessage, what) }

  static let closed = SMPPError(.closed, "the session was stopped")
  static let overloaded = SMPPError(.overloaded, "too many messages wait for their turn")

  /// The same for a message that was under way when it happened.
  func inMidWindow(_ mayHaveBeenTaken: Bool) -> SMPPError {
    SMPPError(kind, mayHaveBeenTaken: mayHaveBeenTaken, description)
  }
}
