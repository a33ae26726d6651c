import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A row of the record of operators' acts. Where the act is a command, it goes with its transaction.
struct ActRecord: Sendable {
  static let kind = RecordKind("act")
  private static let all = KeySpace(kind, "all")
  /// Time for which rows are kept.
  static let retention = Duration.seconds(400 * 86_400)

  let id: RecordID
  let act: OperatorAct

  /// Stores a row.
  /// - Parameter id: random, and the same in each run of the command.
  static func note(
    _ act: String, on subject: String?, id: String, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let user = envelope.userID else { return }
    // The sender could backdate it: its own time does not count.
    var noted = OperatorAct(by: user, act: act, actedAt: set.now)
    noted.subject = subject
    let place = try RecordID(latestFirst: kind, at: set.now, id)
    try set.store(
      place, ActRecord(id: place, act: noted), isNew: true, dueAt: nil, discardAt: set.now + retention,
      groupKeys: [try group])
  }

  static var group: GroupKey { get throws(StoreError) { try GroupKey(all, [1]) } }
}

extension ActRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ row: Self?) throws(UnreadableFields) {
    id = record.id
    var act = OperatorAct(
      by: try fields.required(1, row?.act.by), act: try fields.required(2, row?.act.act),
      actedAt: try fields.required(3, row?.act.actedAt))
    act.subject = fields.optional(4, row?.act.subject)
    self.act = act
  }
}
