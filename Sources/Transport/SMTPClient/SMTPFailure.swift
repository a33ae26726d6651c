import Curl

/// Failure of a submission, or an unknown outcome.
public struct SMTPFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// Kind of failure.
  public enum Kind: String, Sendable, Hashable {
    /// The server said no. See `reply`.
    case refused
    /// The name of the host was not resolved.
    case resolve
    /// No TCP connection.
    case connect
    /// The TLS handshake failed.
    case tls
    /// The server's certificate does not verify.
    case untrusted
    /// The server offers no STARTTLS, and TLS is required.
    case noTLS
    /// The server offers no way of authentication that is known here.
    case noAuthentication
    /// An address is not ASCII, and the server does not offer SMTPUTF8.
    case noSMTPUTF8
    /// The connection ended.
    case lost
    /// The server did not answer in the time that RFC 5321 grants it, or the whole time was over.
    case timedOut
    /// The calling task was canceled.
    case canceled
    /// The client was shut down.
    case closed
    /// Anything else.
    case other
  }

  public let kind: Kind
  /// Stage of the failure.
  public let stage: SMTPStage
  /// The server's reply, when it is the reason.
  public let reply: SMTPReply?
  /// Whether the connection had carried messages before. The server may then simply have closed it.
  public let isReusedConnection: Bool
  /// One line, safe to log: the host, the stage, codes. No addresses.
  public let description: String

  /// Whether the server may have taken the message: the final dot may have left and no reply to it came.
  public var messageMayBeTaken: Bool { stage == .final && reply == nil }

  /// Creates a failure, for tests of callers.
  public init(
    kind: Kind, stage: SMTPStage, reply: SMTPReply? = nil, isReusedConnection: Bool = false, description: String = ""
  ) {
    self.kind = kind
    self.stage = stage
    self.reply = reply
    self.isReusedConnection = isReusedConnection
    self.description = description
  }
}

extension SMTPFailure {
  init(_ failure: CurlSetUp.Failure) {
    switch failure {
    case .library(let text): self.init(kind: .other, stage: .connect, description: text)
    case .file(let text): self.init(kind: .tls, stage: .connect, description: text)
    }
  }
}
