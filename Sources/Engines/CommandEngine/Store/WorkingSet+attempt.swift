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
