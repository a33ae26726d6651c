import CountersignMessages
import CountersignTelemetry

/// Command `ticket.open`: opens a ticket, of which its holder is told by mail.
struct OpenTicket: Command {
  typealias Reply = TicketOpened
  static let type = MessageType("ticket.open")

  /// Bundle ID of the app that sells it.
  var app: String
  /// Mail address of its holder.
  var holder: String
  /// Few digits, with which the holder closes it.
  var pin: String
}

struct TicketOpened: MessageBody {
  static let type = MessageType("ticket.opened")

  var ticketID: String
  var expiresAt: UnixTime
}

/// Command `ticket.verify`: begins to verify the holder's phone number. Answered once the coordinator has answered.
struct VerifyTicket: Command {
  typealias Reply = TicketVerifying
  static let type = MessageType("ticket.verify")

  var ticketID: String
  var phoneNumber: String
}

struct TicketVerifying: MessageBody {
  static let type = MessageType("ticket.verifying")

  var ticketID: String
  var verificationID: String
}

/// Command `ticket.key`: issues a key, which is a secret.
struct IssueTicketKey: Command {
  typealias Reply = TicketKey
  static let type = MessageType("ticket.key")

  var ticketID: String
}

struct TicketKey: MessageBody {
  static let type = MessageType("ticket.keyed")

  var ticketID: String
  var key: String
}

/// Command `ticket.close`.
struct CloseTicket: Command {
  typealias Reply = TicketClosed
  static let type = MessageType("ticket.close")

  var ticketID: String
  var pin: String
}

struct TicketClosed: MessageBody {
  static let type = MessageType("ticket.closed")

  var ticketID: String
}

/// Event `ticket.expired`.
struct TicketExpired: Event {
  static let type = MessageType("ticket.expired")

  var ticketID: String
  var expiredAt: UnixTime
}
