/// Stage of a submission.
public enum SMTPStage: String, Sendable, Hashable, CaseIterable {
  /// Resolving the name, the TCP handshake.
  case connect
  /// The TLS handshake.
  case tls
  /// Waiting for the server's first line.
  case greeting
  /// `EHLO`.
  case hello
  /// `STARTTLS`.
  case startTLS
  /// `AUTH`.
  case authentication
  /// `NOOP`, the check of a connection.
  case check
  /// `MAIL FROM`.
  case sender
  /// `RCPT TO`.
  case recipient
  /// `DATA`.
  case data
  /// The message itself.
  case content
  /// The final dot was sent, or may have been: from here on only the server knows whether it has the message.
  case final
}
