import CommandEngine
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

  /// Numbers of the fields. A later version adds some; a number never changes its meaning.
  private enum Tag {
    static let app: UInt8 = 1
    static let openedAt: UInt8 = 2
    static let expiresAt: UInt8 = 3
    static let liveKey: UInt8 = 4
    static let pinHash: UInt8 = 5
    static let state: UInt8 = 6
    static let keys: UInt8 = 7
    static let verifications: UInt8 = 8
    static let verificationID: UInt8 = 9
    static let envelope: UInt8 = 10
    static let fingerprint: UInt8 = 11
    static let deadline: UInt8 = 12
    static let mail: UInt8 = 13
  }

  func store(in set: inout WorkingSet) throws(StoreError) {
    var body = FieldWriter()
    body.put(Tag.app, app)
    body.put(Tag.openedAt, openedAt)
    body.put(Tag.expiresAt, expiresAt)
    body.put(Tag.liveKey, liveKey)
    body.put(Tag.pinHash, pinHash)
    body.put(Tag.state, state.rawValue)
    body.put(Tag.keys, keys)
    body.put(Tag.verifications, verifications)
    body.put(Tag.verificationID, verificationID)
    body.put(Tag.envelope, waiting?.envelope)
    body.put(Tag.fingerprint, waiting?.fingerprint)
    body.put(Tag.deadline, waiting?.deadline)
    body.put(Tag.mail, mail?.rawValue)
    // Due at its next deadline, and then at its deletion.
    let discardAt = expiresAt + Self.retention
    try set.store(
      id, body: body.bytes, dueAt: state == .open ? min(expiresAt, waiting?.deadline ?? expiresAt) : discardAt,
      discardAt: discardAt, uniqueKeys: state == .open ? [UniqueKey(Self.live, liveKey)] : [])
  }

  init(_ record: Record) throws(StoreError) {
    let body = try FieldReader(record.body)
    self.init(
      record.id, app: try body.required(body.text(Tag.app)), at: try body.required(body.time(Tag.openedAt)),
      until: try body.required(body.time(Tag.expiresAt)), live: try body.required(body.block(Tag.liveKey)),
      pin: try body.required(body.block(Tag.pinHash)))
    state = try body.required(body.word(Tag.state, State.self))
    keys = try body.required(body.number(Tag.keys))
    verifications = try body.required(body.number(Tag.verifications))
    verificationID = body.text(Tag.verificationID)
    mail = try body.word(Tag.mail, JobOutcome.self)
    guard let envelope = try body.envelope(Tag.envelope) else { return }
    waiting = Waiting(
      envelope: envelope, fingerprint: try body.required(body.block(Tag.fingerprint)),
      deadline: try body.required(body.time(Tag.deadline)))
  }

  // MARK: Look-ups

  /// - Parameter id: from outside: it may be no ID at all.
  static func find(_ id: String, in set: WorkingSet) throws(StoreError) -> Ticket? {
    guard let id = RecordID(kind, id), let record = try set.record(id) else { return nil }
    return try Ticket(record)
  }
}
