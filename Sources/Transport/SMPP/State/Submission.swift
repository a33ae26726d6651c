struct Submission: Sendable {
  typealias Instant = ContinuousClock.Instant

  let ticket: UInt64
  let message: ShortMessage
  let deadline: Instant
  /// Whether it waits until the deadline even if the server throttles.
  let isPatient: Bool
  var origin: MessageOrigin?
}

enum SessionAction: Sendable, Hashable {
  /// Write a PDU, with the ticket of the SMS that it carries.
  case send(OutgoingPDU, sequence: UInt32, ticket: UInt64?)
  /// Resume the caller with the outcome: the server's ID, if it gave one.
  case finish(ticket: UInt64, Result<String?, SMPPError>)
  /// Hand a delivery report over. `receiptHandled` records the outcome.
  case deliver(SMPPReceipt, sequence: UInt32)
  case bound
  /// The server throttles: the session pauses for this time.
  case paused(Duration)
  /// Close the connection, and call `lost`.
  case end(SMPPError)
}
