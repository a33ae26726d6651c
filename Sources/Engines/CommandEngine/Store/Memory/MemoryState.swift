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
  var owners: Set<Int64> = []
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

// Due records, the outbox, and purges.
extension MemoryState {
  // MARK: Due records

  func due(_ claim: DueClaim, at now: UnixTime) -> (records: [Record], unreadable: [Record]) {
    var due = records.values.filter { $0.id.kind == claim.kind && ($0.dueAt.map { $0 <= now } ?? false) }
    due.sort { ($0.dueAt ?? now, $0.id.text) < ($1.dueAt ?? now, $1.id.text) }
    let rows = due.prefix(claim.limit)
    return (rows.filter { !unreadable.contains($0.id) }, rows.filter { unreadable.contains($0.id) })
  }

  mutating func stepAround(_ rows: [Record], by pause: Duration, at now: UnixTime) {
    for row in rows {
      if let discardAt = row.discardAt, discardAt <= now {
        remove(row)
      } else {
        records[row.id]?.dueAt = now + pause
        for key in row.uniqueKeys where holders[key] == row.id { holders[key] = nil }
      }
    }
  }

  // MARK: Outbox

  mutating func settle(_ settlement: OutboxSettlement, by owner: Int64) {
    for number in settlement.finished where outbox[number]?.owner == owner { outbox[number] = nil }
    for (number, time) in settlement.postponed {
      postpone(number, until: min(time, UnixTime(milliseconds: .max - 1)), by: owner)
    }
    for number in settlement.setAside { postpone(number, until: Self.never, by: owner) }
  }

  private mutating func postpone(_ number: Int64, until time: UnixTime, by owner: Int64) {
    guard var row = outbox[number], row.owner == owner else { return }
    row.retryAt = time
    // Takes back the count of the claim: the message is not out.
    row.tries = max(row.tries - 1, 0)
    outbox[number] = row
  }

  mutating func claim(_ limit: Int, by owner: Int64, at now: UnixTime) -> [StoredMessage] {
    let numbers = outbox.filter { isClaimable($0.value, by: owner, at: now) }.keys.sorted().prefix(limit)
    return numbers.compactMap { take($0, by: owner) }
  }

  private func isClaimable(_ row: OutboxRow, by owner: Int64, at now: UnixTime) -> Bool {
    // A delay that is longer than any was put off before the clock was set back.
    let isDue = row.retryAt.map { $0 <= now || ($0 > StoreLimits.horizon(now) && $0 != Self.never) } ?? false
    if row.owner == owner { return isDue }
    return !owners.contains(row.owner) && (isDue || row.message.hold == nil)
  }

  mutating func release(_ commands: [InboxKey], by owner: Int64) -> [StoredMessage] {
    let held = outbox.filter { row in row.value.message.hold.map { commands.contains($0.command) } ?? false }
    return held.keys.sorted().compactMap { take($0, by: owner) }
  }

  private mutating func take(_ number: Int64, by owner: Int64) -> StoredMessage? {
    guard var row = outbox[number] else { return nil }
    // One that a dead owner had in hand counts twice, so that the count stays above 0 however often it is postponed.
    let wasInHand = row.retryAt == nil
    let mayBeOut = row.tries > 0 || wasInHand
    row.tries += wasInHand ? 2 : 1
    row.owner = owner
    row.retryAt = nil
    row.message.hold = nil
    outbox[number] = row
    return StoredMessage(number: number, message: row.message, mayBeOut: mayBeOut)
  }

  // MARK: Lists

  func counters(named prefix: [UInt8], since slot: Int64, _ limit: Int) -> [CounterSum] {
    var sums: [CounterSum] = []
    for (key, cells) in counters where key.bytes.starts(with: prefix) {
      let sum = cells.reduce(0) { $1.key >= slot ? $0 + $1.value.count : $0 }
      if sum > 0 { sums.append(CounterSum(key: key, count: sum)) }
    }
    sums.sort { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    return Array(sums.prefix(limit))
  }

  func count(_ space: KeySpace) -> Int {
    let members = groups.reduce(0) { $1.key.space == space ? $0 + $1.value.count : $0 }
    return members + holders.keys.count { $0.space == space }
  }

  // MARK: Purges

  mutating func forget(repliesContaining text: [UInt8]) -> Int {
    guard !text.isEmpty else { return 0 }
    let found = inbox.filter { entry in
      switch entry.value.state {
      case .reserved: false
      case .replied(_, let reply), .unrecorded(let reply): reply.contains(text)
      }
    }
    for key in found.keys { inbox[key] = nil }
    return found.count
  }

  mutating func forgetCounters() -> Int {
    defer { counters = [:] }
    return counters.values.reduce(0) { $0 + $1.count }
  }

  mutating func purge(_ part: StorePart, _ limit: Int, at now: UnixTime) -> Int {
    switch part {
    case .inbox:
      let over = inbox.filter { $0.value.keepUntil <= now }.sorted { $0.value.keepUntil < $1.value.keepUntil }
      for (key, _) in over.prefix(limit) { inbox[key] = nil }
      return min(over.count, limit)
    case .counters: return purgeCounters(limit, at: now)
    case .records:
      let over = records.values.filter { $0.dueAt == nil && ($0.discardAt.map { $0 <= now } ?? false) }
      for record in over.prefix(limit) { remove(record) }
      return min(over.count, limit)
    }
  }

  private mutating func purgeCounters(_ limit: Int, at now: UnixTime) -> Int {
    var left = limit
    for (key, cells) in counters where left > 0 {
      let over = cells.filter { $0.value.keepUntil <= now }.keys.prefix(left)
      for slot in over { counters[key]?[slot] = nil }
      left -= over.count
      if counters[key]?.isEmpty ?? false { counters[key] = nil }
    }
    return limit - left
  }
}
