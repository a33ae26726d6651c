public import HTTPClient

/// What a lane needs of SMTP: one message, one reply. `SMTPClient` is the one that ships.
public protocol MailSubmitter: Sendable {
  /// Submits a message.
  ///
  /// - Throws: why it was not taken, and whether the server may have it nevertheless.
  func send(_ message: SMTPMessage, timeout: Duration) async throws(SMTPFailure) -> SMTPReply

  /// Connects and authenticates.
  func check(timeout: Duration) async throws(SMTPFailure)
}

extension SMTPClient: MailSubmitter {}
