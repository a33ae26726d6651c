public import CountersignTelemetry

/// Everything that a batch has loaded, and everything that it changes: a plain value, which flows work on without I/O.
///
/// A look-up of something that was not loaded throws ``StoreError/Code/notAsked`` instead of answering that there is
/// nothing. A copy is independent; ``attempt(_:)`` is the cheap way to undo the changes of one command.
public struct WorkingSet: Sendable {
  /// Time of the transaction.
  public let now: UnixTime
  /// Grows with each change: a command that leaves it as it was has changed nothing.
  public internal(set) var changeCount = 0

  var inbox: [InboxKey: InboxSlot] = [:]
  package internal(set) var records: [RecordID: RecordSlot] = [:]
  var holders: [UniqueKey: Holder] = [:]
  var groups: [GroupKey: GroupSlot] = [:]
  var counters: [CounterKey: CounterSlot] = [:]
  /// Records that this version cannot read, and keys that such records hold.
  var unreadable: Set<RecordID> = []
  var unreadableHolders: Set<UniqueKey> = []
  package internal(set) var outgoing: [OutboxMessage] = []
  /// See ``afterCommit(_:)``.
  public private(set) var effects: [@Sendable () -> Void] = []
  /// Changed keys in the order of their first change, so that the same batch is stored alike each time.
  var changedMessages: [InboxKey] = []
  var changedRecords: [RecordID] = []
  var changedCounters: [CounterKey] = []
  var journal = Journal()

  /// Makes an empty set, for an implementation of ``Store`` to fill.
  public init(at now: UnixTime) {
    self.now = now
  }

  struct InboxSlot: Sendable {
    /// The entry as it was loaded. `nil` when there was none.
    var stored: InboxEntry?
    var current: InboxEntry?
    var holdsMessages = false
    var isChanged = false
  }

  package struct RecordSlot: Sendable {
    /// The record as it was loaded. `nil` when there was none, or it is new.
    var stored: Record?
    package internal(set) var current: Record?
    var isChanged = false
  }

  enum Holder: Sendable {
    case nobody
    case record(RecordID)
  }

  struct GroupSlot: Sendable {
    var members: [RecordID]
    var isComplete: Bool
  }

  struct CounterSlot: Sendable {
    var isLoaded: Bool
    /// The sums, with this set's own increments, oldest first.
    var cells: [CounterCell] = []
    var increments: [StoreChanges.Increment] = []
    /// Whether the stored cells are deleted on commit.
    var isForgotten = false
    var isChanged = false
  }

  // MARK: Messages

  /// The inbox entry of a message, with the changes of this set.
  /// - Throws: ``StoreError/Code/notAsked``.
  public func message(_ key: InboxKey) throws(StoreError) -> InboxEntry? {
    guard let slot = inbox[key] else { throw Self.notAsked("an inbox entry") }
    return slot.current
  }

  /// Whether messages wait in the outbox for the reply to a command.
  /// - Throws: ``StoreError/Code/notAsked``.
  public func holdsMessages(untilReplyTo key: InboxKey) throws(StoreError) -> Bool {
    guard let slot = inbox[key] else { throw Self.notAsked("an inbox entry") }
    return slot.holdsMessages
  }

  /// Sets the inbox entry of a message. An entry that has been answered is final.
  /// - Throws: ``StoreError/Code/notAsked``, ``StoreError/Code/tooLarge``, or ``StoreError/Code/misuse`` when the
  ///   message was answered before.
  public mutating func set(_ entry: InboxEntry, of key: InboxKey) throws(StoreError) {
    try entry.check()
    guard var slot = inbox[key] else { throw Self.notAsked("an inbox entry") }
    if let known = slot.current, known.state != .reserved {
      throw StoreError(.misuse, "a message is answered a second time")
    }
    changeCount += 1
    journal.note(.message(key, slot))
    if !slot.isChanged { changedMessages.append(key) }
    slot.current = entry
    slot.isChanged = true
    inbox[key] = slot
  }

  /// Sends a message once the changes are stored.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public mutating func send(_ message: OutboxMessage) throws(StoreError) {
    try message.check()
    changeCount += 1
    outgoing.append(message)
    guard let command = message.hold?.command, let slot = inbox[command], !slot.holdsMessages else { return }
    journal.note(.message(command, slot))
    inbox[command]?.holdsMessages = true
  }

  /// Runs an effect after the commit, such as counting a metric. Not run if the changes are rolled back.
  /// - Parameter effect: short; it is lost when the process ends before.
  public mutating func afterCommit(_ effect: @escaping @Sendable () -> Void) {
    effects.append(effect)
  }

  /// Drops the effects behind the first ones.
  mutating func keepEffects(_ count: Int) { effects.removeLast(effects.count - count) }

  // MARK: Counters

  /// Cells of a counter, oldest first, with the increments of this set: the newest ``StoreLimits/maxCellsPerCounter``
  /// at most.
  /// - Throws: ``StoreError/Code/notAsked``.
  public func cells(of key: CounterKey) throws(StoreError) -> [CounterCell] {
    guard let slot = counters[key], slot.isLoaded else { throw Self.notAsked("a counter") }
    return slot.cells
  }

  /// Adds to a cell of a counter, which need not have been loaded.
  /// - Parameters:
  ///   - key: the counter.
  ///   - cell: start of the slot.
  ///   - increment: number of events; negative to take some back.
  ///   - keepUntil: time from which the cell may be purged: the end of the last window that includes it.
  public mutating func count(_ key: CounterKey, in cell: Int64, by increment: Int64 = 1, keepUntil: UnixTime) {
    changeCount += 1
    let isFirst = Self.count(
      &counters[key, default: CounterSlot(isLoaded: false)], in: cell, by: increment, keepUntil: keepUntil, key,
      &journal)
    if isFirst { changedCounters.append(key) }
  }

  /// Deletes all cells of a loaded counter: it starts from zero. What another writer adds meanwhile goes as well, or
  /// stays, as their order is.
  /// - Throws: ``StoreError/Code/notAsked``.
  public mutating func forget(counter key: CounterKey) throws(StoreError) {
    guard let known = counters[key], known.isLoaded else { throw Self.notAsked("a counter") }
    changeCount += 1
    journal.note(.counter(key, known))
    if !known.isChanged { changedCounters.append(key) }
    counters[key] = CounterSlot(isLoaded: true, isForgotten: true, isChanged: true)
  }

  private static func count(
    _ slot: inout CounterSlot, in cell: Int64, by increment: Int64, keepUntil: UnixTime, _ key: CounterKey,
    _ journal: inout Journal
  ) -> Bool {
    journal.note(.counter(key, slot))
    // The newest cell is the one that is counted.
    let index = slot.cells.lastIndex { $0.slot <= cell }
    if let index, slot.cells[index].slot == cell {
      slot.cells[index].count += increment
    } else {
      slot.cells.insert(CounterCell(slot: cell, count: increment), at: index.map { $0 + 1 } ?? 0)
    }
    if let index = slot.increments.firstIndex(where: { $0.slot == cell }) {
      slot.increments[index].count += increment
      slot.increments[index].keepUntil = max(slot.increments[index].keepUntil, keepUntil)
    } else {
      slot.increments.append(
        StoreChanges.Increment(key: key, slot: cell, count: increment, keepUntil: keepUntil))
    }
    defer { slot.isChanged = true }
    return !slot.isChanged
  }

  static func unreadable(_ kind: RecordKind) -> StoreError {
    StoreError(.content, "a record of the kind \(kind) cannot be read: another version of the program wrote it")
  }

  static func notAsked(_ what: String) -> StoreError {
    StoreError(.notAsked, "\(what) is looked up that was not loaded: its key is missing from the keys of the batch")
  }
}

extension WorkingSet {
  /// Runs a body whose changes are undone when it throws: one command's failure leaves nothing.
  ///
  /// It costs as much as the body changes, where a copy of the set would cost as much as the whole batch. Attempts may
  /// nest.
  /// - Throws: the body's error.
  public mutating func attempt<Result, Failure: Error>(
    _ body: (inout WorkingSet) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let mark = Mark(self)
    journal.depth += 1
    defer { journal.end() }
    do throws(Failure) {
      return try body(&self)
    } catch {
      undo(to: mark)
      throw error
    }
  }

  private mutating func undo(to mark: Mark) {
    while journal.entries.count > mark.entries, let entry = journal.entries.popLast() {
      switch entry {
      case .message(let key, let slot): inbox[key] = slot
      case .record(let id, let slot): records[id] = slot
      case .holder(let key, let holder): holders[key] = holder
      case .group(let key, let slot): groups[key] = slot
      case .counter(let key, let slot): counters[key] = slot
      }
    }
    changeCount = mark.changeCount
    outgoing.removeLast(outgoing.count - mark.outgoing)
    keepEffects(mark.effects)
    changedMessages.removeLast(changedMessages.count - mark.messages)
    changedRecords.removeLast(changedRecords.count - mark.records)
    changedCounters.removeLast(changedCounters.count - mark.counters)
  }

  /// Lengths of the lists when an attempt began.
  private struct Mark {
    let entries, outgoing, effects, messages, records, counters, changeCount: Int

    init(_ set: WorkingSet) {
      entries = set.journal.entries.count
      outgoing = set.outgoing.count
      effects = set.effects.count
      messages = set.changedMessages.count
      records = set.changedRecords.count
      counters = set.changedCounters.count
      changeCount = set.changeCount
    }
  }

  /// Slots as they were before the changes of the running attempts.
  struct Journal: Sendable {
    enum Entry: Sendable {
      case message(InboxKey, InboxSlot)
      case record(RecordID, RecordSlot?)
      case holder(UniqueKey, Holder?)
      case group(GroupKey, GroupSlot)
      case counter(CounterKey, CounterSlot)
    }

    fileprivate(set) var entries: [Entry] = []
    fileprivate(set) var depth = 0

    mutating func note(_ entry: @autoclosure () -> Entry) {
      if depth > 0 { entries.append(entry()) }
    }

    fileprivate mutating func end() {
      depth -= 1
      if depth == 0 { entries.removeAll(keepingCapacity: true) }
    }
  }
}
