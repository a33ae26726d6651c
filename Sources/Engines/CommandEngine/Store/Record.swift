public import CountersignTelemetry

/// Stored state of one operation of a flow. The store knows when it is due and how it is found; the body is the flow's.
public struct Record: Sendable, Hashable {
  /// Identity of the record.
  public let id: RecordID
  /// Times it was stored, counted by the store; 0 for a new record. It guards updates.
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
