/// A message that somebody waits for.
struct Submission: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// Names it in what the state machine wants done.
  let ticket: UInt64
  let message: ShortMessage
  /// When the caller gives up.
  let deadline: Instant
  /// Whether it waits for its turn until the deadline, however long the server asks for fewer messages.
  let isPatient: Bool
  /// Given back with the receipt.
  var origin: MessageOrigin?
}

/// What the state machine wants done.
enum SessionAction: Sendable, Hashable {
  /// Write a PDU; with the ticket of the message that it carries.
  case send(OutgoingPDU, sequence: UInt32, ticket: UInt64?)
  /// Tell the caller how its message ended: the server's ID of it, if it gave one.
  case finish(ticket: UInt64, Result<String?, SMPPError>)
  /// Hand a receipt over; `receiptHandled` says how that ended.
  case deliver(SMPPReceipt, sequence: UInt32)
  /// The session is bound.
  case bound
  /// The server asked for fewer messages, and none goes out for so long.
  case paused(Duration)
  /// Close the connection, and call `lost`.
  case end(SMPPError)
}
