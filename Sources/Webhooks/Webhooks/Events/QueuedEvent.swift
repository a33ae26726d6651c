import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// An event for one webhook. It waits for its delivery, and is kept afterwards for a replay.
struct QueuedEvent: Sendable, Hashable {
  /// Time for which an event waits, and for which it is kept after its delivery.
  static let lifetime = Duration.seconds(3 * 86_400)
  /// Bytes of a hash that IDs are made of.
  private static let idBytes = 16

  /// `webhook-id`. A repetition has the same.
  let messageID: String
  /// Type without its version.
  let type: String
  let happenedAt: UnixTime
  /// The event's own body, a JSON object.
  let data: [UInt8]
  /// Time from which it waits.
  var queuedAt: UnixTime
  var deliveredAt: UnixTime?

  init(_ event: ReceivedEvent, at now: UnixTime) {
    messageID = event.id
    type = event.type.name
    happenedAt = event.happenedAt ?? now
    data = event.body
    queuedAt = now
  }

  /// The body of its request.
  var payload: [UInt8] {
    let head = #"{"type":"# + JSONString.quote(type) + #","timestamp":""# + happenedAt.rfc3339 + #"","data":"#
    return Array(head.utf8) + data + [UInt8(ascii: "}")]
  }

  /// An ID without the dots that would part signed content: those of messages have some.
  static func id(of messageID: String, from user: String) -> String {
    "msg_" + Hexadecimal.encode(Array(SHA256.hash(Array("\(user)\n\(messageID)".utf8)).prefix(idBytes)))
  }

  // MARK: Storing

  /// Key by which an event that is delivered by the broker again is found.
  /// - Parameter kind: that of the events that wait, or of those that were delivered.
  static func key(_ messageID: String, _ kind: RecordKind) throws(StoreError) -> UniqueKey {
    try UniqueKey(KeySpace(kind, "message"), Array(messageID.utf8))
  }

  /// Stores it as a new record, due when its time is over.
  func store(_ number: Int, in lane: RecordID, of webhook: Webhook, in set: inout WorkingSet) throws(StoreError) {
    let end = (deliveredAt ?? queuedAt) + Self.lifetime
    let kind = deliveredAt == nil ? webhook.eventKind : webhook.deliveredKind
    try set.store(
      try Lane.eventID(lane, number, kind), self, isNew: true, dueAt: end, discardAt: end,
      uniqueKeys: [try Self.key(messageID, kind)],
      groupKeys: deliveredAt == nil ? [] : [try webhook.delivered()])
  }
}

extension QueuedEvent: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ event: Self?) throws(UnreadableFields) {
    messageID = try fields.required(1, event?.messageID)
    type = try fields.required(2, event?.type)
    happenedAt = try fields.required(3, event?.happenedAt)
    data = try fields.required(4, event?.data)
    queuedAt = try fields.required(5, event?.queuedAt)
    deliveredAt = fields.optional(6, event?.deliveredAt)
  }
}
