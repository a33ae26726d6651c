import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `ticket.verify`, which asks another service, and is answered when that has answered.
struct VerifyTicketOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let command: VerifyTicket
  private let flow: TicketFlow

  init(_ command: VerifyTicket, _ flow: TicketFlow) {
    self.command = command
    self.flow = flow
    fingerprint = flow.secrets.hash("verify", command.ticketID, command.phoneNumber)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var ticket = try Ticket.find(command.ticketID, in: set) else { return CommandAnswer(.unknownTicket) }
    guard ticket.isOpen(at: set.now) else { return CommandAnswer(.ticketOver) }
    guard ticket.waiting == nil else { return CommandAnswer(.alreadyWaiting) }
    let deadline = min(set.now + flow.patience, ticket.expiresAt)
    ticket.waiting = Ticket.Waiting(envelope: envelope, fingerprint: fingerprint, deadline: deadline)
    ticket.verifications += 1
    try ticket.store(in: &set)
    try set.send(
      .command(
        StartVerification(phoneNumber: command.phoneNumber, app: ticket.app),
        id: VerificationReply.commandID(of: ticket), correlationID: ticket.id.text, replyTo: flow.replyQueue,
        cause: envelope, deadline: deadline, at: set.now))
    return nil
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard var ticket = try Ticket.find(command.ticketID, in: set),
      ticket.waiting?.envelope.identity == envelope.identity
    else { return false }
    // The newest address gets the answer.
    ticket.waiting?.envelope = envelope
    try ticket.store(in: &set)
    return true
  }
}

/// The coordinator's reply to the `verification.start` of a ticket.
struct VerificationReply: Report {
  private let ticketID: String
  private let commandID: String
  /// `nil` when the coordinator refused.
  private var verificationID: String?
  private var refusal: APIError?

  /// - Parameter type: the type of the coordinator's reply, or that of its errors.
  static func kind(_ type: MessageType) -> ReportKind {
    ReportKind(type, from: .service(user: Topology.Users.coordinator)) { received throws(ContractProblem) in
      try VerificationReply(received)
    }
  }

  static func commandID(of ticket: Ticket) -> String { "\(ticket.id.text).verification.\(ticket.verifications)" }

  private init?(_ received: ReceivedReport) throws(ContractProblem) {
    guard let ticketID = received.envelope.correlationID, let commandID = received.envelope.causationID else {
      return nil
    }
    self.ticketID = ticketID
    self.commandID = commandID
    if received.envelope.type == ErrorReply.type {
      refusal = try ErrorReply(json: received.body).error
    } else {
      verificationID = try VerificationStarted(json: received.body).verificationID
    }
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard var ticket = try Ticket.find(ticketID, in: set), ticket.waiting != nil,
      commandID == Self.commandID(of: ticket)
    else { return }
    if let verificationID {
      ticket.verificationID = verificationID
      let reply = TicketVerifying(ticketID: ticketID, verificationID: verificationID)
      try ticket.answer(CommandAnswer(reply), in: &set)
    } else {
      try ticket.answer(CommandAnswer(refusal ?? .noReply), in: &set)
    }
    try ticket.store(in: &set)
  }
}
