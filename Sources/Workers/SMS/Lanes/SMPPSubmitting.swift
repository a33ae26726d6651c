import SMPP

/// What a lane needs of a session. `SMPPSession` is the one that ships.
protocol SMPPSubmitting: Sendable {
  var status: SMPPStatus { get }

  /// Submits a message once.
  func submit(
    _ message: ShortMessage, timeout: Duration, isPatient: Bool, origin: MessageOrigin?
  ) async throws(SMPPError) -> String?
}

extension SMPPSession: SMPPSubmitting {}
