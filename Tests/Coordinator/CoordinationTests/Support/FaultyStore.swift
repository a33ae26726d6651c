import CommandEngine
import CountersignTelemetry
import Synchronization

/// A fault that the store has once.
final class OneFault: Sendable {
  private let isOver = Mutex(false)
  private let code: StoreError.Code
  private let meanwhile: @Sendable () -> Void

  /// - Parameter meanwhile: what happens while the store fails.
  init(_ code: StoreError.Code, meanwhile: @escaping @Sendable () -> Void) {
    self.code = code
    self.meanwhile = meanwhile
  }

  func strike() throws(StoreError) {
    let strikes = isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    guard strikes else { return }
    meanwhile()
    throw StoreError(code, "no store")
  }
}

/// Another store, whose first transaction fails.
struct FaultyStore: Store {
  private let inner: any Store
  private let fault: OneFault

  init(_ inner: any Store, _ fault: OneFault) {
    self.inner = inner
    self.fault = fault
  }

  func transact<Result: Sendable>(
    _ load: StoreLoad, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Result> {
    try fault.strike()
    return try await inner.transact(load, at: now, settling: settlement, body)
  }

  func read(_ load: StoreLoad, at now: UnixTime) async throws(StoreError) -> WorkingSet {
    try await inner.read(load, at: now)
  }

  func write(
    _ set: WorkingSet, settling settlement: OutboxSettlement
  ) async throws(StoreError) -> StoreOutcome<Void> {
    try await inner.write(set, settling: settlement)
  }

  func sweep<Result: Sendable>(
    _ claim: DueClaim, at now: UnixTime,
    _ body: @escaping @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Swept<Result>> {
    try await inner.sweep(claim, at: now, body)
  }

  func owned(_ messages: [StoredMessage]) async -> [StoredMessage] { await inner.owned(messages) }

  func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try await inner.claimMessages(limit: limit, at: now)
  }

  func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try await inner.release(heldBy: commands, at: now)
  }

  func settle(_ settlement: OutboxSettlement) async throws(StoreError) { try await inner.settle(settlement) }

  func purge(_ part: StorePart, limit: Int, at now: UnixTime) async throws(StoreError) -> Int {
    try await inner.purge(part, limit: limit, at: now)
  }

  func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int {
    try await inner.forget(repliesContaining: text)
  }

  func forgetCounters() async throws(StoreError) -> Int { try await inner.forgetCounters() }

  func counters(named prefix: [UInt8], since slot: Int64, limit: Int) async throws(StoreError) -> [CounterSum] {
    try await inner.counters(named: prefix, since: slot, limit: limit)
  }

  func count(_ space: KeySpace) async throws(StoreError) -> Int { try await inner.count(space) }
  func probe() async throws(StoreError) { try await inner.probe() }
  func figures() async throws(StoreError) -> StoreFigures { try await inner.figures() }
  func close() async { await inner.close() }
}
