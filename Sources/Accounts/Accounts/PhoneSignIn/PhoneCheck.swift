import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Commands that wait for the coordinator's answer to one code of one verification.
///
/// Its ID, the check's `message_id`, is a keyed hash of session, purpose, subject and code: callers with the same code
/// share one check, and one repeated after a crash gets the first answer. The record lasts as long as a command waits.
struct PhoneCheck {
  struct Waiting {
    var envelope: Envelope
    var fingerprint: [UInt8]
    var use: NumberUse
    var deadline: UnixTime
  }

  static let kind = RecordKind("phoneCheck")
  /// Maximum number of commands that wait for one check. A person has one or two; the reply keys of more would fill the
  /// record.
  static let maxWaiting = 8
  /// Time for which the coordinator's answer is awaited. The gateway waits longer, and most apps do.
  static let patience = Duration.seconds(15)
  /// An older approval is refused, whatever is recorded: see ``CheckReply``.
  static let maxApprovalAge = Duration.seconds(600)
  /// Time for which a used code is remembered: longer than an approval counts, by more than the clocks of two hosts
  /// differ.
  static let usedCodeRetention = Duration.seconds(3600)

  let id: RecordID
  let project: String
  let app: String?
  let verificationID: String
  let purpose: VerificationPurpose
  /// ID of the account's record, of a second factor.
  let subject: String?
  var waiting: [Waiting] = []

  init(_ code: PhoneCode) {
    id = code.id
    project = code.given.project
    app = code.given.app
    verificationID = code.given.verificationID
    purpose = code.purpose
    subject = code.subject
  }

  // MARK: Waiting

  /// The newest address gets the answer.
  mutating func renew(_ envelope: Envelope) -> Bool {
    guard let index = waiting.firstIndex(where: { $0.envelope.identity == envelope.identity }) else { return false }
    waiting[index].envelope = envelope
    return true
  }

  /// The caller stores the check.
  mutating func answerLate(in set: inout WorkingSet) throws(StoreError) {
    let late = waiting.filter { $0.deadline <= set.now }
    var keys = StoreKeys()
    try Self.addAnswerKeys(of: late, to: &keys)
    try set.require(keys)
    for command in late { try command.answer(CommandAnswer(.noCheckReply), in: &set) }
    waiting.removeAll { $0.deadline <= set.now }
  }

  /// Time until which the requester of a command waits, counted from its sending. Afterwards no code must be used up
  /// for it: `nil`.
  static func deadline(of envelope: Envelope, at now: UnixTime) -> UnixTime? {
    let age = CommandAge.least(of: envelope.timestamp, at: now) ?? .zero
    return age < patience ? now + (patience - age) : nil
  }

  static func addAnswerKeys(of commands: [Waiting], to keys: inout StoreKeys) throws(StoreError) {
    for command in commands { keys.add(message: try InboxKey(command.envelope.identity.key)) }
  }

  // MARK: Storing

  func store(in set: inout WorkingSet) throws(StoreError) {
    guard let dueAt = waiting.map(\.deadline).min() else { return try set.remove(id) }
    try set.store(id, self, dueAt: dueAt, discardAt: dueAt + Self.retention)
  }

  // MARK: Look-ups

  static func find(_ id: RecordID, in set: WorkingSet) throws(StoreError) -> PhoneCheck? {
    guard let record = try set.record(id) else { return nil }
    return try PhoneCheck(record)
  }

  /// A record that cannot be read is kept so long for a version that can.
  private static let retention = Duration.seconds(3600)
}

extension PhoneCheck: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ check: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, check?.project)
    app = fields.optional(2, check?.app)
    verificationID = try fields.required(3, check?.verificationID)
    purpose = try fields.required(4, check?.purpose)
    subject = fields.optional(5, check?.subject)
    waiting = try fields.list(16, check.map { Array($0.waiting.prefix(Self.maxWaiting)) })
  }
}

extension PhoneCheck.Waiting: FieldCoded {
  /// An answer that asks to try again is not final.
  func answer(_ answer: CommandAnswer, in set: inout WorkingSet) throws(StoreError) {
    try set.answer(
      answer, to: envelope, fingerprint: fingerprint, keptFor: answer.isTransient ? nil : PhoneSignInFlow.retention)
  }

  init(_ fields: inout FieldCoder, _ command: Self?) throws(UnreadableFields) {
    envelope = try fields.required(1, command?.envelope)
    fingerprint = try fields.required(2, command?.fingerprint)
    use = try fields.required(3, command?.use)
    deadline = try fields.required(4, command?.deadline)
  }
}
