public import CountersignTelemetry
import Synchronization

/// Everything that a batch has loaded, and everything that it changes: a plain value, which flows work on without I/O.
///
/// A look-up of something that was not loaded notes its key and throws ``StoreError/Code/notLoaded`` instead of
/// answering that there is nothing. Inside a transaction the store loads it then, and runs the body again. A copy notes
/// into the same list; ``attempt(_:)`` is the cheap way to undo the changes of one command.
public struct WorkingSet: Sendable {
  /// Time of the transaction.
  public let now: UnixTime
  /// Loads that have filled the set so far.
  public internal(set) var rounds = 0
  var keyCount = 0
  let missed = MissedKeys()
  /// Look-ups so far of what was not loaded: a step that leaves it as it was has missed nothing.
  package var missCount: Int { missed.count }
  /// Grows with each change: a command that leaves it as it was has changed nothing.
  public internal(set) var changeCount = 0

  var inbox: [InboxKey: InboxSlot] = [:]
  package internal(set) var records: [RecordID: RecordSlot] = [:]
  var holders: [UniqueKey: Holder] = [:]
  var groups: [GroupKey: GroupSlot] = [:]
  var counters: [CounterKey: CounterSlot] = [:]
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
    var page: StoreKeys.GroupPage
    var members: [RecordID]
    var isComplete: Bool
  }

  struct CounterSlot: Sendable {
    /// The oldest slot that was loaded. `nil` for a counter that is only added to.
    var since: Int64?
    /// The sums, with this set's own increments, oldest first.
    var cells: [CounterCell] = []
    var increments: [StoreChanges.Increment] = []
    /// Whether the stored cells are deleted on commit.
    var isForgotten = false
    var isChanged = false
  }

  // MARK: Messages

  /// The inbox entry of a message, with the changes of this set.
  /// - Throws: ``StoreError/Code/notLoaded``.
  public func message(_ key: InboxKey) throws(StoreError) -> InboxEntry? { try slot(of: key).current }

  /// Whether messages wait in the outbox for the reply to a command.
  /// - Throws: ``StoreError/Code/notLoaded``.
  public func holdsMessages(untilReplyTo key: InboxKey) throws(StoreError) -> Bool { try slot(of: key).holdsMessages }

  private func slot(of key: InboxKey) throws(StoreError) -> InboxSlot {
    guard let slot = inbox[key] else { throw miss("an inbox entry") { $0.add(message: key) } }
    return slot
  }

  /// Sets the inbox entry of a message. An entry that has been answered is final.
  /// - Throws: ``StoreError/Code/notLoaded``, ``StoreError/Code/tooLarge``, or ``StoreError/Code/misuse`` when the
  ///   message was answered before.
  public mutating func set(_ entry: InboxEntry, of key: InboxKey) throws(StoreError) {
    try entry.check()
    var slot = try slot(of: key)
    if let known = slot.current, known.state != .reserved {
      throw StoreError(.misuse, "a message is answered a second time")
    }
    changeCount += 1
    journal.note(.message(key, slot), isFirst: !slot.isChanged)
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
    journal.note(.message(command, slot), isFirst: !slot.isChanged)
    inbox[command]?.holdsMessages = true
  }

  /// Runs an effect after the commit, such as counting a metric. Not run if the changes are rolled back.
  /// - Parameter effect: short; it is lost when the process ends before.
  public mutating func afterCommit(_ effect: @escaping @Sendable () -> Void) {
    effects.append(effect)
  }

  mutating func keepEffects(_ count: Int) { effects.removeLast(effects.count - count) }

  // MARK: Counters

  /// Cells of a counter from a slot on, oldest first, with the increments of this set: the newest
  /// ``StoreLimits/maxCellsPerCounter`` at most.
  ///
  /// One that was not loaded from there on is noted, and answered with no cells, so that a flow with several limits
  /// misses all of them in one run. That run is incomplete all the same.
  public func cells(of key: CounterKey, since slot: Int64) -> [CounterCell] {
    guard let known = counters[key], let since = known.since, since <= slot else {
      missed.note { $0.add(counter: key, since: slot) }
      return []
    }
    return known.cells
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
      &counters[key, default: CounterSlot()], in: cell, by: increment, keepUntil: keepUntil, key,
      &journal)
    if isFirst { changedCounters.append(key) }
  }

  /// Deletes all cells of a counter, which need not have been loaded: it starts from zero. What another writer adds
  /// meanwhile goes as well, or stays, as their order is.
  public mutating func forget(counter key: CounterKey) {
    let known = counters[key] ?? CounterSlot()
    changeCount += 1
    journal.note(.counter(key, known), isFirst: !known.isChanged)
    if !known.isChanged { changedCounters.append(key) }
    counters[key] = CounterSlot(since: Int64.min, isForgotten: true, isChanged: true)
  }

  private static func count(
    _ slot: inout CounterSlot, in cell: Int64, by increment: Int64, keepUntil: UnixTime, _ key: CounterKey,
    _ journal: inout Journal
  ) -> Bool {
    journal.note(.counter(key, slot), isFirst: !slot.isChanged)
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

  func miss(_ what: String, _ add: (inout StoreKeys) -> Void) -> StoreError {
    missed.note(add)
    return StoreError(.notLoaded, "\(what) is looked up that was not loaded")
  }
}

/// All copies of a set note them here.
final class MissedKeys: Sendable {
  private let state = Mutex((keys: StoreKeys(), count: 0))

  var count: Int { state.withLock { $0.count } }

  func note(_ add: (inout StoreKeys) -> Void) {
    state.withLock { state in
      add(&state.keys)
      state.count += 1
    }
  }

  func take() -> StoreKeys {
    state.withLock { state in
      defer { state.keys = StoreKeys() }
      return state.keys
    }
  }
}

extension WorkingSet {
  /// A run that missed something leaves no change, result or error, and all that it missed is loaded at once.
  mutating func run<Value>(
    load: (StoreKeys, inout WorkingSet) throws(StoreError) -> Void,
    _ body: (inout WorkingSet) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    while true {
      let outcome: Result<Value, StoreError>
      let mark = Mark(self)
      journal.isRun = true
      do throws(StoreError) { outcome = .success(try body(&self)) } catch { outcome = .failure(error) }
      let keys = missed.take()
      if !keys.isEmpty { undo(to: mark) }
      journal.endRun()
      if keys.isEmpty { return try outcome.get() }
      guard rounds < StoreLimits.maxRounds else {
        throw StoreError(.tooLarge, "something is missing after \(rounds) loads: a flow looks up too much in turn")
      }
      try load(keys, &self)
    }
  }

  /// Has several keys loaded at once that a flow is about to look up one after another.
  /// - Throws: ``StoreError/Code/notLoaded`` when one of them was not loaded.
  public func require(_ keys: StoreKeys) throws(StoreError) {
    let missing = keys.missing(in: self)
    if !missing.isEmpty { throw miss("something") { $0.add(missing) } }
  }

  /// Looks several keys up before it throws for one of them, so that one load brings all that are missing.
  /// - Throws: the first error.
  public func each<Key, Value>(
    _ keys: some Sequence<Key>, _ look: (Key) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    var found: [Value] = []
    var first: StoreError?
    for key in keys {
      do throws(StoreError) { found.append(try look(key)) } catch { first = first ?? error }
    }
    if let first { throw first }
    return found
  }

  /// Takes note of a load, before it begins.
  mutating func begin(_ keys: StoreKeys) throws(StoreError) {
    try keys.check()
    guard keyCount + keys.count <= StoreLimits.maxKeysPerLoad else {
      throw StoreError(.tooLarge, "the loads of a transaction have more than \(StoreLimits.maxKeysPerLoad) keys")
    }
    if keys.isEmpty { return }
    keyCount += keys.count
    rounds += 1
    reserve(for: keys)
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

  /// Slots as they were before the changes of the run and its attempts.
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
    /// Whether a run may be undone as a whole: to that only the first change of a slot matters.
    fileprivate(set) var isRun = false

    mutating func note(_ entry: @autoclosure () -> Entry, isFirst: Bool = true) {
      if depth > 0 || isRun && isFirst { entries.append(entry()) }
    }

    fileprivate mutating func end() {
      depth -= 1
      if depth == 0, !isRun { entries.removeAll(keepingCapacity: true) }
    }

    fileprivate mutating func endRun() {
      isRun = false
      entries.removeAll(keepingCapacity: true)
    }
  }
}
