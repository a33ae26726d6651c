import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// The events of one subject for one webhook, in their order: one of them is on its way at a time.
///
/// ```
/// append ──► idle ──► waiting ──claim──► on its way ──delivered──► the next one
///                        ▲                   │ failed, or the claim's time is over
///                        └───────────────────┘
/// ```
struct Lane: Sendable, Hashable {
  /// Time for which a claimed event is the claimer's. Longer than a request and the transaction behind it take.
  static let claimTime = Duration.seconds(30)
  /// Pause after an attempt in which nothing was tried.
  static let pause = Duration.seconds(1)
  /// Longer than the events that have its numbers are kept: numbers are never used again.
  private static let retention = QueuedEvent.lifetime * 2
  private static let numberDigits = 16

  /// The event that is delivered next.
  private(set) var head = 0
  /// Number of the next new event.
  private(set) var next = 0
  /// Failed attempts to deliver the first event.
  private(set) var attempts = 0
  /// Name of the last claim. Only its owner settles the event.
  private(set) var claim = ""
  /// Time from which the first event may be claimed. `nil` while there is none.
  private(set) var dueAt: UnixTime?

  /// Adds an event.
  /// - Returns: its number.
  mutating func append(at now: UnixTime) -> Int {
    defer { next += 1 }
    if dueAt == nil { dueAt = now }
    return next
  }

  /// Takes the first event for a while.
  /// - Returns: its number.
  mutating func take(as claim: String, at now: UnixTime) -> Int {
    self.claim = claim
    dueAt = now + Self.claimTime
    return head
  }

  /// Whether a claim still holds.
  func isHeld(by claim: String, _ number: Int) -> Bool { head == number && self.claim == claim && head < next }

  /// Goes on behind an event that was delivered, or is gone, if it is the first.
  mutating func pass(_ number: Int, at now: UnixTime) {
    guard number == head, head < next else { return }
    head += 1
    (attempts, claim) = (0, "")
    dueAt = head == next ? nil : now
  }

  /// Puts the first event off after a failure: 5 s, 30 s, 2 min, 10 min, and then 1 h.
  mutating func fail(at now: UnixTime) {
    attempts += 1
    claim = ""
    dueAt = now + RetryStep.after(attempt: attempts).delay
  }

  /// Leaves the first event to the next claim, from a time on.
  mutating func release(at time: UnixTime) {
    claim = ""
    dueAt = time
  }

  // MARK: Storing

  static func id(_ subject: String, of webhook: Webhook) throws(StoreError) -> RecordID {
    guard let id = RecordID(webhook.laneKind, subject) else { throw .unreadableBody }
    return id
  }

  /// Events of a lane are ordered by their IDs.
  /// - Parameter kind: that of the events that wait, or of those that were delivered.
  static func eventID(_ lane: RecordID, _ number: Int, _ kind: RecordKind) throws(StoreError) -> RecordID {
    let number = Hexadecimal.text(UInt64(max(0, number)), width: numberDigits)
    guard let id = RecordID(kind, "\(lane.text).\(number)") else { throw .unreadableBody }
    return id
  }

  /// The lane of an event, and its number there.
  static func place(of event: RecordID, _ webhook: Webhook) throws(StoreError) -> (lane: RecordID, number: Int) {
    let parts = event.text.split(separator: ".")
    guard parts.count == 2, let number = Int(parts[1], radix: 16) else { throw .unreadableBody }
    return (try id(String(parts[0]), of: webhook), number)
  }

  static func find(_ id: RecordID, in set: WorkingSet) throws(StoreError) -> Lane? {
    try set.record(id).map { record throws(StoreError) in try Lane(record) }
  }

  func store(as id: RecordID, in set: inout WorkingSet) throws(StoreError) {
    try set.store(id, self, dueAt: dueAt, discardAt: set.now + Self.retention)
  }
}

extension Lane: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ lane: Self?) throws(UnreadableFields) {
    head = try fields.required(1, lane?.head)
    next = try fields.required(2, lane?.next)
    attempts = try fields.required(3, lane?.attempts)
    claim = try fields.required(4, lane?.claim)
    dueAt = fields.optional(5, lane?.dueAt)
  }
}
