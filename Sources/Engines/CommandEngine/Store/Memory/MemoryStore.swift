public import CountersignTelemetry
import Synchronization

/// A store in memory, for tests and for the development of flows. It ends with the process.
///
/// Several stores on the same ``Contents`` are like processes that share a database.
public final class MemoryStore: Store {
  /// Data that several stores share.
  public final class Contents: Sendable {
    let state = Mutex(MemoryState())

    public init() {}
  }

  let contents: Contents
  /// Owner of the messages.
  let owner: Int64

  /// - Parameter contents: the data to work on.
  public init(_ contents: Contents = Contents()) {
    self.contents = contents
    owner = contents.state.withLock { $0.addOwner() }
  }

  public func close() async {
    contents.state.withLock { state in _ = state.owners.remove(owner) }
  }

  public func probe() async throws(StoreError) {
    try withState { _ throws(StoreError) in }
  }

  // MARK: Transactions

  public func read(_ load: StoreLoad, at now: UnixTime) async throws(StoreError) -> WorkingSet {
    try withState { state throws(StoreError) in try state.load(load, at: now) }
  }

  public func write(
    _ set: WorkingSet, settling settlement: OutboxSettlement
  ) async throws(StoreError) -> StoreOutcome<Void> {
    try withState { state throws(StoreError) in
      if let conflict = state.conflict(with: set.changes) { return .conflict(conflict) }
      state.settle(settlement, by: owner)
      return .stored((), messages: state.write(set.changes, by: owner))
    }
  }

  public func transact<Result: Sendable>(
    _ load: StoreLoad, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Result> {
    try withState { state throws(StoreError) in
      var set = try state.load(load, at: now)
      let result = try body(&set)
      if let conflict = state.conflict(with: set.changes) { return .conflict(conflict) }
      state.settle(settlement, by: owner)
      return .stored(result, messages: state.write(set.changes, by: owner))
    }
  }

  public func sweep<Result: Sendable>(
    _ claim: DueClaim, at now: UnixTime,
    _ body: @escaping @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Swept<Result>> {
    try StoreError.check(claim.limit, 1...StoreLimits.maxDueRecords, "a claim of records")
    return try withState { state throws(StoreError) in
      let (records, unreadable) = state.due(claim, at: now)
      var set = WorkingSet(at: now)
      for record in records { set.load(record) }
      if let also = claim.also { try state.load(try also(records), into: &set) }
      let result = try body(records, &set)
      let untouched = try set.putOff(records, by: claim.pause)
      if let conflict = state.conflict(with: set.changes) { return .conflict(conflict) }
      state.stepAround(unreadable, by: claim.pause, at: now)
      _ = state.write(set.changes, by: owner, leftAt: now)
      return .stored(
        Swept(
          result: result, rows: records.count + unreadable.count, unreadable: unreadable.count, untouched: untouched),
        messages: [])
    }
  }

  // MARK: Messages

  public func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try StoreError.check(limit, 1...StoreLimits.maxClaimedMessages, "a claim of messages")
    return try withState { state throws(StoreError) in state.claim(limit, by: owner, at: now) }
  }

  public func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try withState { state throws(StoreError) in state.release(commands, by: owner) }
  }

  public func owned(_ messages: [StoredMessage]) async -> [StoredMessage] { messages }

  public func settle(_ settlement: OutboxSettlement) async throws(StoreError) {
    try withState { state throws(StoreError) in state.settle(settlement, by: owner) }
  }

  public func figures() async throws(StoreError) -> StoreFigures {
    try withState { state throws(StoreError) in
      StoreFigures(
        messages: state.outbox.count, setAside: state.outbox.values.count { $0.retryAt == MemoryState.never })
    }
  }

  public func counters(
    named prefix: [UInt8], since slot: Int64, limit: Int
  ) async throws(StoreError) -> [CounterSum] {
    try StoreError.check(prefix.count, 1...StoreLimits.maxHashBytes, "the beginning of a counter's name")
    try StoreError.check(limit, 1...StoreLimits.maxListedCounters, "a list of counters")
    return try withState { state throws(StoreError) in state.counters(named: prefix, since: slot, limit) }
  }

  public func count(_ space: KeySpace) async throws(StoreError) -> Int {
    try withState { state throws(StoreError) in state.count(space) }
  }

  public func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int {
    try withState { state throws(StoreError) in state.forget(repliesContaining: text) }
  }

  public func forgetCounters() async throws(StoreError) -> Int {
    try withState { state throws(StoreError) in state.forgetCounters() }
  }

  public func purge(_ part: StorePart, limit: Int, at now: UnixTime) async throws(StoreError) -> Int {
    try StoreError.check(limit, 1...StoreLimits.maxPurgedRows, "a purge")
    return try withState { state throws(StoreError) in state.purge(part, limit, at: now) }
  }

  /// Runs a body on a store that has not been closed.
  private func withState<Result>(
    _ body: (inout MemoryState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result where Result: Sendable {
    let outcome: Swift.Result<Result, StoreError> = contents.state.withLock { state in
      guard state.owners.contains(owner) else {
        return .failure(StoreError(.closed, "the store in memory was closed"))
      }
      do throws(StoreError) { return .success(try body(&state)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

extension MemoryStore.Contents {
  /// Makes a record unreadable, as one that another version of the program wrote. For tests.
  public func spoil(_ id: RecordID) {
    state.withLock { state in _ = state.unreadable.insert(id) }
  }
}
