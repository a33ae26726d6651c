public import CommandEngine
public import CountersignTelemetry
import Synchronization

/// A store that fails when a test wants it to.
public final class FaultyStore: Store {
  /// A call that fails.
  public enum Call: Sendable, Hashable, CaseIterable {
    case read, write, transact, sweep, claimMessages, release, settle, purge, probe
  }

  private struct Fault: Sendable {
    let error: StoreError
    let calls: Set<Call>
    /// `nil` for all.
    var left: Int?
    let meanwhile: @Sendable () -> Void
  }

  public let store: any Store
  private let faults = Mutex<[Fault]>([])
  private let conflicts = Mutex(0)
  private let made = Mutex<[Call]>([])
  private let loads = Mutex<[Int]>([])
  private let isOwner = Mutex(true)
  private let committed = Mutex<(@Sendable () async -> Void)?>(nil)
  private let life = Mutex<(EngineLife)?>(nil)

  public init(_ store: any Store) {
    self.store = store
  }

  /// Calls so far.
  public var calls: [Call] { made.withLock { $0 } }

  /// Loads of each transaction, look and sweep so far, without a sweep's claim.
  public var rounds: [Int] { loads.withLock { $0 } }

  private func begin() -> Int {
    loads.withLock { loads in
      loads.append(0)
      return loads.count - 1
    }
  }

  private func note(_ set: WorkingSet, of call: Int) { loads.withLock { $0[call] = set.rounds } }

  /// Fails further calls.
  /// - Parameters:
  ///   - code: kind of the failure.
  ///   - calls: the calls that fail; all that write when empty.
  ///   - times: number of failures; `nil` for all calls.
  ///   - meanwhile: runs when the store fails.
  public func fail(
    _ code: StoreError.Code, _ calls: Call..., times: Int? = nil, meanwhile: @escaping @Sendable () -> Void = {}
  ) {
    let calls = calls.isEmpty ? Set(Call.allCases).subtracting([.read]) : Set(calls)
    faults.withLock {
      $0.append(Fault(error: StoreError(code, "no store"), calls: calls, left: times, meanwhile: meanwhile))
    }
  }

  /// Loses what is in hand, or gets it back.
  public func own(_ isOwner: Bool) { self.isOwner.withLock { $0 = isOwner } }

  /// Has something done after each transaction, before its caller learns of the commit.
  public func afterCommit(_ body: (@Sendable () async -> Void)?) { committed.withLock { $0 = body } }

  /// Makes a life end at one of the changes: afterwards every call fails, as it does for a process that was killed.
  public func live(_ life: EngineLife) { self.life.withLock { $0 = life } }

  private func noteChange() { _ = life.withLock { $0 }?.change() }

  /// Ends all faults.
  public func recover() { faults.withLock { $0 = [] } }

  /// Makes another writer faster than the next transactions.
  public func meetConflicts(_ count: Int) { conflicts.withLock { $0 = count } }

  private func check(_ call: Call) throws(StoreError) {
    made.withLock { $0.append(call) }
    if life.withLock({ $0 })?.isOver == true { throw StoreError(.closed, "the process was killed") }
    let fault = faults.withLock { faults -> Fault? in
      guard let index = faults.firstIndex(where: { $0.calls.contains(call) && $0.left != 0 }) else { return nil }
      if let left = faults[index].left { faults[index].left = left - 1 }
      return faults[index]
    }
    guard let fault else { return }
    fault.meanwhile()
    throw fault.error
  }

  public func read(_ keys: StoreKeys, at now: UnixTime) async throws(StoreError) -> WorkingSet {
    try check(.read)
    return try await store.read(keys, at: now)
  }

  public func read<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try check(.read)
    let call = begin()
    return try await store.read(first, at: now) { [self] set throws(StoreError) in
      note(set, of: call)
      return try body(&set)
    }
  }

  public func write(
    _ set: WorkingSet, settling settlement: OutboxSettlement
  ) async throws(StoreError) -> StoreOutcome<Void> {
    try check(.write)
    let outcome = try await store.write(set, settling: settlement)
    if case .stored = outcome { noteChange() }
    return outcome
  }

  public func transact<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> StoreOutcome<Value> {
    let isSlower = conflicts.withLock { left in
      defer { left = max(0, left - 1) }
      return left > 0
    }
    // As a store does that notices when it writes: the body has run, and nothing is stored.
    if isSlower {
      _ = try await store.read(first, at: now, body)
      return .conflict(.received)
    }
    try check(.transact)
    let call = begin()
    let outcome = try await store.transact(first, at: now, settling: settlement) { [self] set throws(StoreError) in
      note(set, of: call)
      return try body(&set)
    }
    if case .stored = outcome { noteChange() }
    await committed.withLock { $0 }?()
    return outcome
  }

  public func sweep<Result: Sendable>(
    _ claim: DueClaim, at now: UnixTime,
    _ body: @escaping @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Swept<Result>> {
    try check(.sweep)
    let call = begin()
    let outcome = try await store.sweep(claim, at: now) { [self] records, set throws(StoreError) in
      note(set, of: call)
      return try body(records, &set)
    }
    if case .stored(let swept, _) = outcome, swept.rows > 0 { noteChange() }
    return outcome
  }

  public func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try check(.claimMessages)
    let messages = try await store.claimMessages(limit: limit, at: now)
    if !messages.isEmpty { noteChange() }
    return messages
  }

  public func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try check(.release)
    let messages = try await store.release(heldBy: commands, at: now)
    if !messages.isEmpty { noteChange() }
    return messages
  }

  public func owned(_ messages: [StoredMessage]) async -> [StoredMessage] {
    guard isOwner.withLock({ $0 }) else { return [] }
    return await store.owned(messages)
  }

  public func settle(_ settlement: OutboxSettlement) async throws(StoreError) {
    try check(.settle)
    try await store.settle(settlement)
    noteChange()
  }

  public func purge(_ part: StorePart, limit: Int, at now: UnixTime) async throws(StoreError) -> Int {
    try check(.purge)
    let count = try await store.purge(part, limit: limit, at: now)
    if count > 0 { noteChange() }
    return count
  }

  public func probe() async throws(StoreError) {
    try check(.probe)
    try await store.probe()
  }

  public func figures() async throws(StoreError) -> StoreFigures { try await store.figures() }

  public func counters(
    named prefix: [UInt8], since slot: Int64, limit: Int
  ) async throws(StoreError) -> [CounterSum] {
    try await store.counters(named: prefix, since: slot, limit: limit)
  }

  public func count(_ space: KeySpace) async throws(StoreError) -> Int { try await store.count(space) }

  public func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int {
    try await store.forget(repliesContaining: text)
  }

  public func forgetCounters() async throws(StoreError) -> Int { try await store.forgetCounters() }

  public func close() async { await store.close() }
}
