import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A row of the record of acts of administrators and operators. It goes with the transaction of the act.
struct ActRecord: Sendable {
  static let kind = RecordKind("act")
  static let ofProject = KeySpace(kind, "project")
  /// Time for which rows are kept.
  static let retention = Duration.seconds(400 * 86_400)
  /// Bytes of an administrator's name in an ID.
  private static let nameBytes = 16
  private static let secondsOfHour: Int64 = 3600

  let id: RecordID
  let act: AdministratorActed

  /// Stores a row, and sends the event.
  /// - Parameter id: random, and the same in each run of the command.
  static func note(
    _ act: String, by administrator: Administrator, project: String, localID: String?, count: Int?, id: String,
    cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    var acted = AdministratorActed(project: project, by: administrator.name, act: act, actedAt: set.now)
    acted.localID = localID
    acted.count = count
    try note(acted, id: id, cause: cause, in: &set)
  }

  static func note(
    _ acted: AdministratorActed, id: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    try store(acted, id, RecordID(latestFirst: kind, at: set.now, id), cause, in: &set)
  }

  /// Notes an act that is done too often for a row each, once an hour for each administrator: the thousands of pages of
  /// an export, a cookie for each sign-in.
  static func noteHourly(
    _ act: String, by administrator: Administrator, project: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    let (id, place) = try hourly(act, by: administrator.name, project: project, at: set.now)
    guard try set.record(place) == nil else { return }
    let acted = AdministratorActed(project: project, by: administrator.name, act: act, actedAt: set.now)
    try store(acted, id, place, cause, in: &set)
  }

  /// ID and place of the row of an hour.
  static func hourly(
    _ act: String, by name: String, project: String, at now: UnixTime
  ) throws(StoreError) -> (id: String, place: RecordID) {
    let hour = UnixTime(seconds: now.seconds / secondsOfHour * secondsOfHour)
    let digest = AccountHashes.digest("hourly act", [act, project, name]).prefix(nameBytes)
    let id = "\(act).\(hour.seconds).\(Hexadecimal.encode(Array(digest)))"
    return (id, try RecordID(latestFirst: kind, at: hour, id))
  }

  private static func store(
    _ act: AdministratorActed, _ id: String, _ place: RecordID, _ cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    try set.store(
      place, ActRecord(id: place, act: act), isNew: true, dueAt: nil, discardAt: set.now + retention,
      groupKeys: [try group(act.project)])
    var message = try OutgoingMessage.event(act, id: "act.\(id)", correlationID: id, cause: cause, at: set.now)
    message.causationID = nil
    try set.send(message)
  }

  static func group(_ project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }
}

extension ActRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ row: Self?) throws(UnreadableFields) {
    id = record.id
    var act = AdministratorActed(
      project: try fields.required(1, row?.act.project), by: try fields.required(2, row?.act.by),
      act: try fields.required(3, row?.act.act), actedAt: try fields.required(4, row?.act.actedAt))
    act.localID = fields.optional(5, row?.act.localID)
    act.count = fields.optional(6, row?.act.count)
    act.subject = fields.optional(7, row?.act.subject)
    self.act = act
  }
}
