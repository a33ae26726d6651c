public import CountersignTelemetry

/// Stored state of one operation of a flow. The store knows when it is due and how it is found; the body is the flow's.
public struct Record: Sendable, Hashable {
  /// Identity of the record.
  public let id: RecordID
  /// Times it was stored, counted by the store. 0 for a new record. It guards updates.
  public internal(set) var version: Int
  /// Time at which a sweep hands it to its flow: its deadline, and then its deletion. `nil` for never.
  public var dueAt: UnixTime?
  /// Time from which it may be deleted even unread: by a purge if it is never due, and by a sweep if it is unreadable.
  /// `nil` for never.
  public var discardAt: UnixTime?
  /// Keys that this record alone holds, up to ``StoreLimits/maxKeysPerRecord``.
  public var uniqueKeys: [UniqueKey]
  /// Keys that it shares with others, up to ``StoreLimits/maxKeysPerRecord``.
  public var groupKeys: [GroupKey]
  /// Content in the flow's own format, up to ``StoreLimits/maxBodyBytes`` bytes.
  public var body: [UInt8]

  /// Makes a new record.
  /// - Parameters:
  ///   - id: its identity, which nothing stored has.
  ///   - body: content in the flow's own format.
  ///   - dueAt: time at which a sweep hands it to its flow.
  ///   - discardAt: time from which it may be deleted unread.
  ///   - uniqueKeys: keys that it alone holds.
  ///   - groupKeys: keys that it shares.
  public init(
    _ id: RecordID, body: [UInt8], dueAt: UnixTime? = nil, discardAt: UnixTime? = nil, uniqueKeys: [UniqueKey] = [],
    groupKeys: [GroupKey] = []
  ) {
    self.init(
      id: id, version: 0, dueAt: dueAt, discardAt: discardAt, uniqueKeys: uniqueKeys, groupKeys: groupKeys, body: body)
  }

  init(
    id: RecordID, version: Int, dueAt: UnixTime?, discardAt: UnixTime?, uniqueKeys: [UniqueKey], groupKeys: [GroupKey],
    body: [UInt8]
  ) {
    self.id = id
    self.version = version
    self.dueAt = dueAt
    self.discardAt = discardAt
    self.uniqueKeys = uniqueKeys
    self.groupKeys = groupKeys
    self.body = body
  }

  func check() throws(StoreError) {
    try StoreError.check(body.count, 0...StoreLimits.maxBodyBytes, "a body of \(id)")
    try StoreError.check(uniqueKeys.count, 0...StoreLimits.maxKeysPerRecord, "a number of unique keys of \(id)")
    try StoreError.check(groupKeys.count, 0...StoreLimits.maxKeysPerRecord, "a number of group keys of \(id)")
    guard uniqueKeys.allSatisfy({ $0.space.kind == id.kind }), groupKeys.allSatisfy({ $0.space.kind == id.kind }) else {
      throw StoreError(.misuse, "a record of the kind \(id) has a key of another kind")
    }
  }
}

/// Entry of a message in the inbox: one message is carried out once, and answered alike.
public struct InboxEntry: Sendable, Hashable {
  /// Progress of the message.
  public enum State: Sendable, Hashable {
    /// It waits, and is answered later.
    case reserved
    /// It was answered.
    /// - Parameters:
    ///   - type: type of the reply.
    ///   - body: body of the reply.
    case replied(type: String, body: [UInt8])
    /// It was carried out, and its reply is not recorded because it holds a secret.
    /// - Parameter note: data from which the flow makes the reply again, such as the ID of a session.
    case unrecorded(note: [UInt8])
  }

  /// Fingerprint of the order, which distinguishes it from another command under the same ID.
  public var fingerprint: [UInt8]
  /// Progress of the message.
  public var state: State
  /// Time from which the entry may be purged.
  public var keepUntil: UnixTime

  public init(_ state: State, fingerprint: [UInt8], keepUntil: UnixTime) {
    self.state = state
    self.fingerprint = fingerprint
    self.keepUntil = keepUntil
  }

  func check() throws(StoreError) {
    try StoreError.check(fingerprint.count, 0...StoreLimits.maxFingerprintBytes, "a fingerprint")
    switch state {
    case .reserved: break
    case .replied(let type, let body):
      try StoreError.check(type.utf8.count, 0...StoreLimits.maxIDBytes, "the type of a reply")
      try StoreError.check(type, "the type of a reply")
      try StoreError.check(body.count, 0...StoreLimits.maxReplyBytes, "a reply")
    case .unrecorded(let note): try StoreError.check(note.count, 0...StoreLimits.maxReplyBytes, "a note")
    }
  }
}

/// Number of events in one slot of a counter. A window is the sum of its slots: a millisecond for an exact limit, a
/// 64th of the window for a large one, a twelfth for a conversion.
///
/// Increments add up. A decision may see others' late, which overshoots a limit by at most a batch of each.
public struct CounterCell: Sendable, Hashable {
  /// Start of the slot in the counter's own unit, usually milliseconds since 1970.
  public var slot: Int64
  /// Events in it. Increments may be negative, and so may a sum that was reduced twice: readers take it for 0.
  public var count: Int64

  public init(slot: Int64, count: Int64) {
    self.slot = slot
    self.count = count
  }
}

/// Events of a counter from a slot on.
public struct CounterSum: Sendable, Hashable {
  /// The counter.
  public var key: CounterKey
  /// Sum of its cells, above 0.
  public var count: Int64

  public init(key: CounterKey, count: Int64) {
    self.key = key
    self.count = count
  }
}
