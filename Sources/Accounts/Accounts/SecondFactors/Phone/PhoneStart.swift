import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A start of a second factor that waits for the coordinator's answer.
///
/// Its ID, the start's `message_id`, is a keyed hash of the command's identity: one repeated after a crash is the same
/// start. The record lasts as long as the command waits, for at most ``PhoneCheck/patience``.
struct PhoneStart {
  static let kind = RecordKind("phoneStart")

  let id: RecordID
  let app: String
  let purpose: VerificationPurpose
  let fingerprint: [UInt8]
  let deadline: UnixTime
  let project: String
  let account: RecordID
  /// The newest address gets the answer.
  var envelope: Envelope

  /// IDs that the start of a command may have: under the pepper, and the one before.
  static func ids(of envelope: Envelope, _ hashes: AccountHashes) -> [RecordID] {
    ([hashes] + hashes.former).compactMap { RecordID(kind, $0.id("phone start", [envelope.identity.key])) }
  }

  var correlationID: String { AwaitedReply.correlationID(Self.kind, id.text) }

  // MARK: Answering

  /// An answer that asks to try again is not final.
  func answer(_ answer: CommandAnswer, in set: inout WorkingSet) throws(StoreError) {
    var keys = StoreKeys()
    keys.add(message: try InboxKey(envelope.identity.key))
    try set.require(keys)
    try set.answer(
      answer, to: envelope, fingerprint: fingerprint, keptFor: answer.isTransient ? nil : PhoneSignInFlow.retention)
    try set.remove(id)
  }

  // MARK: Storing

  func store(in set: inout WorkingSet) throws(StoreError) {
    try set.store(id, self, dueAt: deadline, discardAt: deadline + Self.retention)
  }

  static func find(_ ids: [RecordID], in set: WorkingSet) throws(StoreError) -> PhoneStart? {
    for record in try set.each(ids, { id throws(StoreError) in try set.record(id) }) {
      if let record { return try PhoneStart(record) }
    }
    return nil
  }

  /// A record that cannot be read is kept so long for a version that can.
  private static let retention = Duration.seconds(3600)
}

extension PhoneStart: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ start: Self?) throws(UnreadableFields) {
    id = record.id
    app = try fields.required(1, start?.app)
    purpose = try fields.required(2, start?.purpose)
    fingerprint = try fields.required(3, start?.fingerprint)
    deadline = try fields.required(4, start?.deadline)
    envelope = try fields.required(5, start?.envelope)
    project = try fields.required(6, start?.project)
    guard let account = RecordID(AccountRecord.kind, try fields.required(7, start?.account.text)) else {
      throw UnreadableFields()
    }
    self.account = account
  }
}

extension CommandReader {
  /// Limit of the codes that were sent for second factors of an account. A start that the coordinator refuses, for the
  /// lack of a proof of the app above all, uses none of them up.
  func startedCodes(ofAccount account: RecordID, project: String) -> LimitBench {
    limits([.secondFactorStartsPerAccount], of: LimitSubject(project: project, account: account.text))
  }
}
