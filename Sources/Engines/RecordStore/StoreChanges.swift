public import CountersignTelemetry

/// Changes of a working set, for an implementation of ``Store`` to write.
public struct StoreChanges: Sendable {
  /// An inbox entry.
  public struct Message: Sendable {
    /// Identity of the message.
    public var key: InboxKey
    /// The entry to write.
    public var entry: InboxEntry
    /// Whether there must be none so far. Otherwise the stored one must be a reservation.
    public var isNew: Bool
  }

  /// A record. Its version as loaded guards it, and is counted up.
  public enum Change: Sendable {
    /// There must be none with its ID.
    case insert(Record)
    /// The stored one must still have this version.
    case update(Record, from: Record)
    /// The stored one must still have this version.
    case delete(Record)
  }

  /// An addition to a cell of a counter.
  public struct Increment: Sendable {
    /// The counter.
    public var key: CounterKey
    /// Start of the slot.
    public var slot: Int64
    /// Number of events, which may be negative.
    public var count: Int64
    /// Time from which the cell may be purged. Of several the latest holds.
    public var keepUntil: UnixTime
  }

  /// Inbox entries, in the order of their changes.
  public var messages: [Message]
  /// Records: what gives keys free comes before what takes them, each in the order of the changes.
  public var records: [Change]
  /// Counters whose stored cells go, before anything is added.
  public var forgotten: [CounterKey]
  /// Additions to counters.
  public var increments: [Increment]
  /// Messages in the order they were sent.
  public var outgoing: [OutboxMessage]

  /// Whether there is nothing to write.
  public var isEmpty: Bool {
    messages.isEmpty && records.isEmpty && forgotten.isEmpty && increments.isEmpty && outgoing.isEmpty
  }
}

extension WorkingSet {
  /// Changes since the set was loaded.
  public var changes: StoreChanges {
    StoreChanges(
      messages: changedMessages.compactMap { key in
        guard let slot = inbox[key], let entry = slot.current else { return nil }
        return StoreChanges.Message(key: key, entry: entry, isNew: slot.stored == nil)
      },
      records: recordChanges, forgotten: changedCounters.filter { counters[$0]?.isForgotten ?? false },
      increments: increments, outgoing: outgoing)
  }

  private var recordChanges: [StoreChanges.Change] {
    var old: [StoreChanges.Change] = []
    var new: [StoreChanges.Change] = []
    for id in changedRecords {
      guard let slot = records[id] else { continue }
      switch (slot.stored, slot.current) {
      case (let stored?, nil): old.append(.delete(stored))
      case (let stored?, let record?): old.append(.update(record, from: stored))
      case (nil, let record?): new.append(.insert(record))
      // Added and removed again.
      case (nil, nil): break
      }
    }
    return old + new
  }

  private var increments: [StoreChanges.Increment] {
    var increments: [StoreChanges.Increment] = []
    increments.reserveCapacity(changedCounters.count)
    for key in changedCounters {
      for increment in counters[key]?.increments ?? [] where increment.count != 0 { increments.append(increment) }
    }
    return increments
  }
}

// MARK: - Loading

extension WorkingSet {
  /// Makes room for what keys lead to.
  public mutating func reserve(for keys: StoreKeys) {
    inbox.reserveCapacity(inbox.count + keys.messages.count)
    records.reserveCapacity(records.count + keys.records.count + keys.holders.count)
    holders.reserveCapacity(holders.count + keys.holders.count)
    counters.reserveCapacity(counters.count + keys.counters.count)
  }

  /// Adds a loaded inbox entry. What was loaded before stays.
  /// - Parameters:
  ///   - entry: the entry; `nil` when there is none.
  ///   - holdsMessages: whether messages wait for the reply to it.
  public mutating func load(_ entry: InboxEntry?, of key: InboxKey, holdsMessages: Bool = false) {
    guard inbox[key] == nil else { return }
    inbox[key] = InboxSlot(stored: entry, current: entry, holdsMessages: holdsMessages)
  }

  /// Adds a loaded record, and itself as the holder of its unique keys. What was loaded before stays.
  public mutating func load(_ record: Record) {
    guard records[record.id] == nil else { return }
    records[record.id] = RecordSlot(stored: record, current: record)
    for key in record.uniqueKeys where holders[key] == nil { holders[key] = .record(record.id) }
  }

  /// Notes that there is a record that this version cannot read: a look-up of it fails, and no other.
  public mutating func load(unreadable id: RecordID) { unreadable.insert(id) }

  /// Notes that a record that this version cannot read holds a key.
  public mutating func load(unreadableHolderOf key: UniqueKey) { unreadableHolders.insert(key) }

  /// Notes that there is no record with an ID.
  public mutating func load(absent id: RecordID) {
    if records[id] == nil { records[id] = RecordSlot() }
  }

  /// Notes that no record holds a key.
  public mutating func load(absentHolderOf key: UniqueKey) {
    if holders[key] == nil { holders[key] = .nobody }
  }

  /// Adds a loaded page of a group.
  public mutating func load(
    _ members: [Record], of key: GroupKey, _ page: StoreKeys.GroupPage = StoreKeys.GroupPage(), isComplete: Bool
  ) {
    guard groups[key] == nil else { return }
    for record in members { load(record) }
    groups[key] = GroupSlot(page: page, members: members.map(\.id), isComplete: isComplete)
  }

  /// Adds loaded cells of a counter.
  /// - Parameters:
  ///   - cells: oldest first, one for each slot.
  ///   - slot: the oldest slot that was looked for.
  public mutating func load(_ cells: [CounterCell], of key: CounterKey, since slot: Int64 = .min) {
    if let known = counters[key]?.since, known <= slot { return }
    counters[key] = CounterSlot(since: slot, cells: cells)
  }
}
