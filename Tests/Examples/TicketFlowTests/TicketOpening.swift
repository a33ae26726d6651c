import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `ticket.open`, whose PIN is hashed before its transaction.
struct OpenTicketOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let command: OpenTicket
  private let flow: TicketFlow
  private let id = MessageID.make()
  private let liveKey: [UInt8]
  private var pinHash: [UInt8] = []

  init(_ command: OpenTicket, _ flow: TicketFlow) {
    self.command = command
    self.flow = flow
    // Keyed: a plain hash would reveal the PIN to a quick search.
    fingerprint = flow.secrets.hash("open", command.app, command.holder, command.pin)
    liveKey = flow.secrets.hash("live", command.app, command.holder)
  }

  var stage: CommandStage? {
    CommandStage { [self] _ in
      var order = self
      order.pinHash = await flow.secrets.slowHash(ofPIN: command.pin, of: id)
      return order
    }
  }

  private func live(in set: WorkingSet) throws(StoreError) -> Ticket? {
    guard let record = try set.holder(of: UniqueKey(Ticket.live, liveKey)) else { return nil }
    return try Ticket(record)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if var ticket = try live(in: set) {
      // It changes nothing, so its answer is not recorded either.
      if ticket.isOpen(at: set.now) { return try answer(ticket) }
      try ticket.end(in: &set)
    }
    guard let id = RecordID(Ticket.kind, id) else { return CommandAnswer(.unknownTicket) }
    let ticket = Ticket(
      id, app: command.app, at: set.now, until: set.now + flow.lifetime, live: liveKey, pin: pinHash)
    try ticket.store(isNew: true, in: &set)
    try set.send(mail(about: ticket, cause: envelope, at: set.now), afterReplyTo: envelope.identity)
    set.afterCommit { [opened = flow.opened] in opened.increment() }
    return try answer(ticket)
  }

  private func answer(_ ticket: Ticket) throws(StoreError) -> CommandAnswer {
    try CommandAnswer(TicketOpened(ticketID: ticket.id.text, expiresAt: ticket.expiresAt))
  }

  private func mail(
    about ticket: Ticket, cause: Envelope, at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    let job = MailRelayJob(
      to: command.holder, content: .template(name: "ticket", languageCode: nil, variables: .init(appName: command.app)),
      deadline: ticket.expiresAt)
    return .job(
      MailRelayJob.type, id: ticket.id.text + TicketMailReport.suffix, correlationID: ticket.id.text, cause: cause,
      deadline: job.deadline, body: try job.written(), at: now)
  }
}

/// The result of a mail.
struct TicketMailReport: Report {
  static let suffix = ".mail"

  let ticketID: String
  let outcome: JobOutcome

  static let kind = ReportKind(
    JobResult.type(ofJob: MailRelayJob.type), from: .worker(routingKeyPrefix: MailRelayJob.routingKey),
    dropped: { TicketMailReport($0, .expired) },
    read: { received throws(ContractProblem) in
      guard let result = try received.jobResult(of: { TicketMailReport($0, .unknown) != nil }) else { return nil }
      return TicketMailReport(result.jobID, result.outcome)
    })

  /// - Returns: `nil` for a job that is not one of a ticket.
  private init?(_ jobID: String, _ outcome: JobOutcome) {
    guard jobID.hasSuffix(Self.suffix) else { return nil }
    ticketID = String(jobID.dropLast(Self.suffix.count))
    self.outcome = outcome
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard var ticket = try Ticket.find(ticketID, in: set), ticket.mail == nil else { return }
    ticket.mail = outcome
    try ticket.store(in: &set)
  }
}
