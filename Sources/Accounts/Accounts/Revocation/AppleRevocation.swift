import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A token of Sign in with Apple under revocation, while commands wait for its end. Of a code the end is looked for
/// longer: it belongs to what a deletion tells.
///
/// Its ID is a keyed hash of account and token: who brings the same again finds the same operation, after the record has
/// gone the coordinator's.
struct AppleRevocation {
  struct Waiting {
    var envelope: Envelope
    var fingerprint: [UInt8]
    var deadline: UnixTime
    /// Session whose ID token came with the command.
    var session: String
  }

  static let kind = RecordKind("revocation")
  static let provider = "apple.com"
  /// Maximum number of commands that wait for one revocation.
  static let maxWaiting = 8
  /// Time for which its end is awaited. The gateway waits longer.
  static let patience = Duration.seconds(10)
  /// Time between two looks at the operation.
  static let pause = Duration.seconds(1)
  /// The same once no command waits.
  static let latePause = Duration.seconds(60)
  /// Looks after which an end is given up that no command waits for: about an hour.
  static let maxLooks = 70
  /// Time for which the session that had a code revoked may delete its account: the code is its owner's proof.
  static let allowance = Duration.seconds(300)

  let id: RecordID
  let project: String
  let account: String
  /// Subject that is compared, of an authorization code.
  let subject: String?
  /// The coordinator's operation, once it is known.
  var operationID: String?
  var looks = 0
  var waiting: [Waiting] = []
  /// Whether its end is known, or of no use.
  var isOver = false

  init(_ id: RecordID, of account: AccountRecord, subject: String?) {
    self.id = id
    project = account.project
    self.account = account.id.text
    self.subject = subject
  }

  // MARK: Waiting

  /// Time until which the requester of a command waits. `nil` when it has gone: no code must be used up for it.
  static func deadline(of envelope: Envelope, at now: UnixTime) -> UnixTime? {
    let age = CommandAge.least(of: envelope.timestamp, at: now) ?? .zero
    return age < patience ? now + (patience - age) : nil
  }

  /// The newest address gets the answer.
  mutating func renew(_ envelope: Envelope) -> Bool {
    guard let index = waiting.firstIndex(where: { $0.envelope.identity == envelope.identity }) else { return false }
    waiting[index].envelope = envelope
    return true
  }

  /// Answers all commands alike.
  mutating func answer(_ answer: CommandAnswer, in set: inout WorkingSet) throws(StoreError) {
    try Self.answer(waiting, answer, in: &set)
    (waiting, isOver) = ([], true)
  }

  /// The revocation goes on without them.
  mutating func answerLate(in set: inout WorkingSet) throws(StoreError) {
    try Self.answer(waiting.filter { $0.deadline <= set.now }, CommandAnswer(.revocationUndecided), in: &set)
    waiting.removeAll { $0.deadline <= set.now }
  }

  private static func answer(
    _ commands: [Waiting], _ answer: CommandAnswer, in set: inout WorkingSet
  ) throws(StoreError) {
    var keys = StoreKeys()
    for command in commands { keys.add(message: try InboxKey(command.envelope.identity.key)) }
    try set.require(keys)
    for command in commands {
      try set.answer(
        answer, to: command.envelope, fingerprint: command.fingerprint,
        keptFor: answer.isTransient ? nil : PhoneSignInFlow.retention)
    }
  }

  static func correlationID(of id: RecordID) -> String { AwaitedReply.correlationID(kind, id.text) }

  // MARK: Storing

  static func find(_ id: RecordID, in set: WorkingSet) throws(StoreError) -> AppleRevocation? {
    guard let record = try set.record(id) else { return nil }
    return try AppleRevocation(record)
  }

  func store(in set: inout WorkingSet) throws(StoreError) {
    guard isAwaited else { return try set.remove(id) }
    let pause = waiting.isEmpty ? Self.latePause : Self.pause
    try set.store(id, self, dueAt: set.now + pause, discardAt: set.now + Self.retention)
  }

  var isAwaited: Bool {
    !waiting.isEmpty || !isOver && subject != nil && operationID != nil && looks < Self.maxLooks
  }

  /// A record that cannot be read is kept so long for a version that can.
  private static let retention = Duration.seconds(3600)
}

extension AppleRevocation: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ revocation: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, revocation?.project)
    account = try fields.required(2, revocation?.account)
    subject = fields.optional(3, revocation?.subject)
    operationID = fields.optional(4, revocation?.operationID)
    looks = try fields.required(5, revocation?.looks)
    waiting = try fields.list(16, revocation.map { Array($0.waiting.prefix(Self.maxWaiting)) })
  }
}

extension AppleRevocation.Waiting: FieldCoded {
  init(_ fields: inout FieldCoder, _ command: Self?) throws(UnreadableFields) {
    envelope = try fields.required(1, command?.envelope)
    fingerprint = try fields.required(2, command?.fingerprint)
    deadline = try fields.required(3, command?.deadline)
    session = try fields.required(4, command?.session)
  }
}
