import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A verification whose code has signed somebody in, linked a number, or yielded a temporary proof: it does so once.
///
/// It is stored in the transaction of that effect. The coordinator repeats its approval to the same check, so this
/// record alone keeps a code from counting twice.
struct UsedVerification {
  static let kind = RecordKind("usedVerification")
  /// An older approval is refused, whatever is recorded: see ``CheckReply``.
  static let maxApprovalAge = Duration.seconds(600)
  /// Longer than an approval counts, by more than the clocks of two hosts differ.
  static let retention = Duration.seconds(3600)

  let id: RecordID

  init?(_ verificationID: String) {
    guard let id = RecordID(Self.kind, verificationID) else { return nil }
    self.id = id
  }

  func isUsed(in set: WorkingSet) throws(StoreError) -> Bool { try set.record(id) != nil }

  func store(approvedAt: UnixTime, in set: inout WorkingSet) throws(StoreError) {
    let discardAt = max(set.now, approvedAt) + Self.retention
    try set.store(id, self, dueAt: nil, discardAt: discardAt)
  }
}

extension UsedVerification: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ verification: Self?) { id = record.id }
}
