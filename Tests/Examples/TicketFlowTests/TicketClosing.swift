import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// `ticket.key`: its answer is a secret, so the inbox keeps only the number of the key.
struct IssueTicketKeyOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let ticketID: String
  private let secrets: TicketSecrets

  init(_ command: IssueTicketKey, _ secrets: TicketSecrets) {
    ticketID = command.ticketID
    self.secrets = secrets
    fingerprint = secrets.hash("key", ticketID)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var ticket = try Ticket.find(ticketID, in: set) else { return CommandAnswer(.unknownTicket) }
    guard ticket.isOpen(at: set.now) else { return CommandAnswer(.ticketOver) }
    ticket.keys += 1
    try ticket.store(in: &set)
    return try answerAgain(Array(String(ticket.keys).utf8), in: &set)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let key = secrets.hash("ticketKey", ticketID, String(decoding: note, as: UTF8.self))
    var answer = try CommandAnswer(TicketKey(ticketID: ticketID, key: Hexadecimal.encode(key)))
    answer.note = note
    return answer
  }
}

/// `ticket.close`. Wrong PINs are limited by a counter.
struct CloseTicketOrder: CommandOrder {
  static let maxWrongPINs: Int64 = 5
  static let window = Duration.seconds(3600)

  let fingerprint: [UInt8]
  private let command: CloseTicket
  private let secrets: TicketSecrets
  private var pinHash: [UInt8] = []

  init(_ command: CloseTicket, _ secrets: TicketSecrets) {
    self.command = command
    self.secrets = secrets
    fingerprint = secrets.hash("close", command.ticketID, command.pin)
  }

  var stage: CommandStage? {
    CommandStage { [self] _ in
      var order = self
      order.pinHash = await secrets.slowHash(ofPIN: command.pin, of: command.ticketID)
      return order
    }
  }

  private var wrongPINs: CounterKey {
    get throws(StoreError) { try CounterKey(secrets.hash("wrongPINs", command.ticketID)) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var ticket = try Ticket.find(command.ticketID, in: set) else { return CommandAnswer(.unknownTicket) }
    guard ticket.isOpen(at: set.now) else { return CommandAnswer(.ticketOver) }
    let wrong = try set.cells(of: wrongPINs, since: (set.now - Self.window).milliseconds).reduce(0) { $0 + $1.count }
    guard wrong < Self.maxWrongPINs else { return CommandAnswer(.tooManyPINs) }
    guard constantTimeEquals(ticket.pinHash, pinHash) else {
      set.count(try wrongPINs, in: set.now.milliseconds, keepUntil: set.now + Self.window)
      return CommandAnswer(.wrongPIN)
    }
    try ticket.answer(CommandAnswer(.ticketOver), in: &set)
    ticket.state = .closed
    try ticket.store(in: &set)
    return try CommandAnswer(TicketClosed(ticketID: command.ticketID))
  }
}
