import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A ticket as it is stored.
struct Ticket {
  enum State: String {
    case open, closed, expired
  }

  /// The `ticket.verify` that waits for the coordinator's reply.
  struct Waiting {
    var envelope: Envelope
    var fingerprint: [UInt8]
    var deadline: UnixTime
  }

  static let kind = RecordKind("ticket")
  /// Key of the open ticket of a holder at an app.
  static let live = KeySpace(kind, "live")
  /// Time after its end for which a ticket can be asked for.
  static let retention = Duration.seconds(86_400)

  let id: RecordID
  let app: String
  let openedAt: UnixTime
  let expiresAt: UnixTime
  let liveKey: [UInt8]
  let pinHash: [UInt8]
  var state = State.open
  /// Keys that were issued.
  var keys = 0
  /// Commands that were sent to the coordinator.
  var verifications = 0
  var verificationID: String?
  var waiting: Waiting?
  /// Outcome of the mail to its holder.
  var mail: JobOutcome?

  init(_ id: RecordID, app: String, at openedAt: UnixTime, until expiresAt: UnixTime, live: [UInt8], pin: [UInt8]) {
    self.id = id
    self.app = app
    self.openedAt = openedAt
    self.expiresAt = expiresAt
    liveKey = live
    pinHash = pin
  }

  func isOpen(at now: UnixTime) -> Bool { state == .open && now < expiresAt }

  /// State for `operation.status`, also of a ticket whose end the maintenance has not processed yet.
  func status(at now: UnixTime) -> OperationStatus {
    let state: OperationStatus.State = state == .closed ? .completed : isOpen(at: now) ? .running : .expired
    return OperationStatus(
      operationID: id.text, kind: OperationKind(rawValue: "ticket.open"), app: app, state: state,
      failure: mail.flatMap { $0 == .accepted ? nil : .init(code: "MAIL_\($0.rawValue.uppercased())") },
      startedAt: openedAt, expiresAt: expiresAt, timeline: [.init(at: openedAt, event: "opened")])
  }

  // MARK: Ends

  /// Ends what is due: the wait for the coordinator, the ticket, and its record.
  mutating func end(in set: inout WorkingSet) throws(StoreError) {
    if expiresAt + Self.retention <= set.now { return try set.remove(id) }
    if let deadline = waiting?.deadline, deadline <= set.now { try answer(CommandAnswer(.noReply), in: &set) }
    if state == .open, expiresAt <= set.now {
      try answer(CommandAnswer(.ticketOver), in: &set)
      state = .expired
      let event = TicketExpired(ticketID: id.text, expiredAt: set.now)
      try set.send(.event(event, id: "\(id.text).expired", correlationID: id.text, cause: nil, at: set.now))
    }
    try store(in: &set)
  }

  /// Answers the command that waits, if there is one.
  mutating func answer(_ answer: CommandAnswer, in set: inout WorkingSet) throws(StoreError) {
    guard let waiting else { return }
    self.waiting = nil
    try set.answer(answer, to: waiting.envelope, fingerprint: waiting.fingerprint, keptFor: Self.retention)
  }

  // MARK: Storing

  func store(isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    // Due at its next deadline, and then at its deletion.
    let discardAt = expiresAt + Self.retention
    try set.store(
      id, self, isNew: isNew, dueAt: state == .open ? min(expiresAt, waiting?.deadline ?? expiresAt) : discardAt,
      discardAt: discardAt, uniqueKeys: state == .open ? [UniqueKey(Self.live, liveKey)] : [])
  }

  // MARK: Look-ups

  /// - Parameter id: from outside: it may be no ID at all.
  static func find(_ id: String, in set: WorkingSet) throws(StoreError) -> Ticket? {
    guard let id = RecordID(kind, id), let record = try set.record(id) else { return nil }
    return try Ticket(record)
  }
}

extension Ticket: StoredRecord {
  /// Names every field once, for both directions. A later version adds some. A tag never changes its meaning.
  init(_ record: Record, _ fields: inout FieldCoder, _ ticket: Self?) throws(UnreadableFields) {
    id = record.id
    app = try fields.required(1, ticket?.app)
    openedAt = try fields.required(2, ticket?.openedAt)
    expiresAt = try fields.required(3, ticket?.expiresAt)
    liveKey = try fields.required(4, ticket?.liveKey)
    pinHash = try fields.required(5, ticket?.pinHash)
    state = try fields.required(6, ticket?.state)
    keys = try fields.required(7, ticket?.keys)
    verifications = try fields.required(8, ticket?.verifications)
    verificationID = fields.optional(9, ticket?.verificationID)
    waiting = try fields.optional(10, ticket?.waiting)
    mail = try fields.optional(11, ticket?.mail)
  }
}

extension Ticket.Waiting: FieldCoded {
  init(_ fields: inout FieldCoder, _ waiting: Self?) throws(UnreadableFields) {
    envelope = try fields.required(1, waiting?.envelope)
    fingerprint = try fields.required(2, waiting?.fingerprint)
    deadline = try fields.required(3, waiting?.deadline)
  }
}
