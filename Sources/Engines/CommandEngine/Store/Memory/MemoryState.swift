import CountersignTelemetry

/// Data of a store in memory: records and keys.
struct MemoryState: Sendable {
  struct Cell: Sendable {
    var count: Int64
    var keepUntil: UnixTime
  }

  struct OutboxRow: Sendable {
    var owner: Int64
    /// `nil` while its owner publishes it.
    var retryAt: UnixTime?
    var message: OutboxMessage
    var tries = 0
  }

  /// Time of retry of a message that no running version can read.
  static let never = UnixTime(milliseconds: .max)

  var inbox: [InboxKey: InboxEntry] = [:]
  var records: [RecordID: Record] = [:]
  var holders: [UniqueKey: RecordID] = [:]
  var groups: [GroupKey: Set<RecordID>] = [:]
  var counters: [CounterKey: [Int64: Cell]] = [:]
  var outbox: [Int64: OutboxRow] = [:]
  /// Owners that live.
  var owners: Set<Int64> = []
  /// Records that a test has made unreadable.
  var unreadable: Set<RecordID> = []
  private var lastOwner: Int64 = 0
  private var lastMessage: Int64 = 0

  mutating func addOwner() -> Int64 {
    lastOwner += 1
    owners.insert(lastOwner)
    return lastOwner
  }

  // MARK: Loading

  func load(_ load: StoreLoad, at now: UnixTime) throws(StoreError) -> WorkingSet {
    var set = WorkingSet(at: now)
    try self.load(load.keys, into: &set)
    guard let then = load.then else { return set }
    let more = try then(set)
    guard load.keys.count + more.count <= StoreLimits.maxKeysPerLoad else {
      throw StoreError(.tooLarge, "both rounds of a load have more than \(StoreLimits.maxKeysPerLoad) keys")
    }
    try self.load(more, into: &set)
    return set
  }

  func load(_ keys: StoreKeys, into set: inout WorkingSet) throws(StoreError) {
    try keys.check()
    for key in keys.messages {
      set.load(inbox[key], of: key, holdsMessages: outbox.values.contains { $0.message.hold?.command == key })
    }
    for id in keys.records {
      if unreadable.contains(id) {
        set.load(unreadable: id)
      } else if let record = records[id] {
        set.load(record)
      } else {
        set.load(absent: id)
      }
    }
    for key in keys.holders {
      if let id = holders[key], let record = records[id] {
        if unreadable.contains(id) { set.load(unreadableHolderOf: key) } else { set.load(record) }
      }
      set.load(absentHolderOf: key)
    }
    for (key, page) in keys.groups {
      let rest = (groups[key] ?? []).filter { page.behind.utf8.lexicographicallyPrecedes($0.text.utf8) }
      var members: [Record] = []
      for id in rest.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }).prefix(page.limit) {
        if let record = records[id], !unreadable.contains(id) { members.append(record) }
      }
      set.load(members, of: key, isComplete: rest.count < page.limit)
    }
    for (key, slot) in keys.counters {
      let cells = (counters[key] ?? [:]).filter { $0.key >= slot }.sorted { $0.key < $1.key }
      set.load(
        cells.suffix(StoreLimits.maxCellsPerCounter).map { CounterCell(slot: $0.key, count: $0.value.count) }, of: key)
    }
  }

  // MARK: Writing

  /// Reason that changes must not be written. Nothing is changed by then.
  func conflict(with changes: StoreChanges) -> StoreConflict? {
    for message in changes.messages where !holds(message) { return .received }
    var free: Set<UniqueKey> = []
    for change in changes.records {
      switch change {
      case .insert(let record): if records[record.id] != nil { return .changed(record.id.kind) }
      case .update(let record, let stored):
        if records[record.id]?.version != stored.version { return .changed(record.id.kind) }
        free.formUnion(stored.uniqueKeys)
      case .delete(let stored):
        if records[stored.id]?.version != stored.version { return .changed(stored.id.kind) }
        free.formUnion(stored.uniqueKeys)
      }
    }
    for case .insert(let record) in changes.records {
      for key in record.uniqueKeys where isTaken(key, free) { return .taken(key.space) }
    }
    for case .update(let record, let stored) in changes.records {
      for key in record.uniqueKeys where !stored.uniqueKeys.contains(key) && isTaken(key, free) {
        return .taken(key.space)
      }
    }
    return nil
  }

  private func holds(_ message: StoreChanges.Message) -> Bool {
    message.isNew ? inbox[message.key] == nil : inbox[message.key]?.state == .reserved
  }

  private func isTaken(_ key: UniqueKey, _ free: Set<UniqueKey>) -> Bool {
    holders[key].map { records[$0] != nil && !free.contains(key) } ?? false
  }

  /// - Parameter time: time from which the messages may be claimed; `nil` when the caller publishes them.
  mutating func write(_ changes: StoreChanges, by owner: Int64, leftAt time: UnixTime? = nil) -> [StoredMessage] {
    for message in changes.messages { inbox[message.key] = message.entry }
    for change in changes.records {
      switch change {
      case .delete(let stored), .update(_, let stored): remove(stored)
      case .insert: break
      }
    }
    for change in changes.records {
      switch change {
      case .insert(let record), .update(let record, _): add(record)
      case .delete: break
      }
    }
    for key in changes.forgotten { counters[key] = nil }
    for increment in changes.increments {
      let old = counters[increment.key]?[increment.slot] ?? Cell(count: 0, keepUntil: increment.keepUntil)
      counters[increment.key, default: [:]][increment.slot] = Cell(
        count: old.count + increment.count, keepUntil: max(old.keepUntil, increment.keepUntil))
    }
    return changes.outgoing.compactMap { add($0, by: owner, leftAt: time) }
  }

  private mutating func add(_ record: Record) {
    var record = record
    record.version += 1
    records[record.id] = record
    for key in record.uniqueKeys { holders[key] = record.id }
    for key in record.groupKeys { groups[key, default: []].insert(record.id) }
  }

  mutating func remove(_ record: Record) {
    records[record.id] = nil
    unreadable.remove(record.id)
    for key in record.uniqueKeys where holders[key] == record.id { holders[key] = nil }
    for key in record.groupKeys { groups[key]?.remove(record.id) }
  }

  private mutating func add(_ message: OutboxMessage, by owner: Int64, leftAt time: UnixTime?) -> StoredMessage? {
    lastMessage += 1
    let retryAt = message.hold?.until ?? time
    outbox[lastMessage] = OutboxRow(owner: owner, retryAt: retryAt, message: message)
    return retryAt == nil ? StoredMessage(number: lastMessage, message: message, mayBeOut: false) : nil
  }
}
