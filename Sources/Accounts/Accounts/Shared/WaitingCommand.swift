import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Record of one command that waits for the reply of another service.
///
/// Its ID is a keyed hash of the command's identity: one repeated after a crash has the same record. It lasts as long as
/// the command waits, for at most ``PhoneCheck/patience``.
protocol WaitingCommand: StoredRecord {
  static var kind: RecordKind { get }

  var id: RecordID { get }
  var fingerprint: [UInt8] { get }
  var deadline: UnixTime { get }
  /// The newest address gets the answer.
  var envelope: Envelope { get set }
}

extension WaitingCommand {
  /// IDs that the record of a command may have: under the pepper, and the one before.
  static func ids(of envelope: Envelope, _ hashes: AccountHashes) -> [RecordID] {
    ([hashes] + hashes.former).compactMap {
      RecordID(kind, $0.id("waiting command", [kind.name, envelope.identity.key]))
    }
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

  /// Takes note that a command has arrived again.
  /// - Returns: whether it waits.
  static func renew(
    _ ids: [RecordID], _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> Bool {
    guard var command = try find(ids, in: set) else { return false }
    command.envelope = envelope
    try command.store(in: &set)
    return true
  }

  // MARK: Storing

  func store(in set: inout WorkingSet) throws(StoreError) {
    // A record that cannot be read is kept for a version that can.
    try set.store(id, self, dueAt: deadline, discardAt: deadline + PhoneSignInFlow.retention)
  }

  static func find(_ ids: [RecordID], in set: WorkingSet) throws(StoreError) -> Self? {
    for record in try set.each(ids, { id throws(StoreError) in try set.record(id) }) {
      if let record { return try Self(record) }
    }
    return nil
  }
}
