public import CountersignTelemetry
import RecordStore
import Synchronization

/// Runs the periodic tasks once a second: the flows' own, the ends of due records, leftovers, deletions.
public final class Maintenance: Sendable {
  private let context: EngineContext
  private let relay: OutboxRelay
  private let sweeper: Sweeper
  private let interval: Duration
  private let measuredAt = Mutex<UnixTime?>(nil)
  /// Failures at present, apart from the store's: each is logged when it begins, and when it is another one.
  private let failures = Mutex<[MaintenancePart: String]>([:])

  /// Interval at which the gauges of the whole store are set anew: it counts rows.
  static let measuringInterval = Duration.seconds(15)
  /// The rest waits for the next round, so that commands are not delayed.
  static let maxRounds = 16
  static let maxPurgedRows = 1024

  /// - Parameters:
  ///   - context: store, outbox and flows.
  ///   - interval: interval between rounds.
  public init(_ context: EngineContext, interval: Duration) {
    self.context = context
    self.interval = interval
    relay = OutboxRelay(context)
    sweeper = Sweeper(context: context)
  }

  /// Counts what an earlier process left, and lets the flows begin. Call before anything is consumed.
  /// - Throws: ``StoreError`` when the store cannot be read.
  public func begin() async throws(StoreError) {
    context.metrics.begin(context.registry)
    try await relay.begin()
    for flow in context.registry.flows { try await flow.begin(context.store, at: context.clock.now()) }
    for flow in context.registry.flows { try await flow.measure(context.store) }
    measuredAt.withLock { $0 = context.clock.now() }
  }

  /// Runs until the task is canceled.
  public func run() async {
    await withTaskGroup(of: Void.self) { group in
      // Separate, because it waits for an absent broker; deadlines and deletions do not.
      group.addTask { await self.repeating { await self.publishLeftovers() } }
      group.addTask { await self.repeating { await self.tidy() } }
    }
  }

  private func repeating(_ round: @Sendable () async -> Void) async {
    while !Task.isCancelled {
      await round()
      do { try await Task.sleep(for: interval) } catch { return }
    }
  }

  /// Publishes the messages whose time has come.
  public func publishLeftovers() async {
    await attempt(.publishLeftovers) { try await self.relay.relay() }
  }

  /// Runs one round. A part that fails is reported, and does not prevent the others. The deadlines are processed in a
  /// transaction that writes whether or not one is due, which shows whether the store accepts writes when no command
  /// arrives.
  public func tidy() async {
    for task in context.registry.tasks {
      await attempt(task.part) { try await task.run(self.context.store, self.context.clock.now()) }
    }
    for due in context.registry.dueRecords {
      await attempt(due.part) { try await self.sweeper.sweep(due) }
    }
    for (part, name) in Self.purged {
      await attempt(name) {
        try await self.context.store.purge(part, limit: Self.maxPurgedRows, at: self.context.clock.now())
          == Self.maxPurgedRows
      }
    }
    await attempt(.purgeOutbox) {
      try await self.context.outbox.settle()
      return false
    }
    await attempt(.measure) {
      try await self.measure()
      return false
    }
  }

  /// Sets the gauges of the whole store: those that each process counts on drift where several share the store.
  private func measure() async throws(StoreError) {
    let now = context.clock.now()
    let isDue = measuredAt.withLock { $0.map { now < $0 || now - $0 >= Self.measuringInterval } ?? true }
    guard isDue else { return }
    try await relay.measure()
    for flow in context.registry.flows { try await flow.measure(context.store) }
    measuredAt.withLock { $0 = now }
  }

  private static let purged: [(StorePart, MaintenancePart)] = [
    (.inbox, .purgeReplies), (.counters, .purgeCounts), (.records, .purgeRecords),
  ]

  /// Settles what was published, at the end of the process: otherwise the next one would publish it again.
  public func end() async {
    do {
      try await context.outbox.settle()
    } catch {
      context.logger.warning(
        "what was published is not deleted, and will be published again", [.error: error.description])
    }
  }

  private func attempt(_ part: MaintenancePart, _ step: @Sendable () async throws -> Bool) async {
    for _ in 0..<Self.maxRounds where !Task.isCancelled {
      do {
        let isMore = try await step()
        context.health.succeeded(part.rawValue)
        failures.withLock { $0[part] = nil }
        guard isMore else { return }
      } catch {
        guard !Task.isCancelled else { return }
        return note(error, part)
      }
    }
  }

  /// The broker's absence is not a fault of the store. Its connections report it.
  private func note(_ error: any Error, _ part: MaintenancePart) {
    context.metrics.maintenanceFailures.with(part.rawValue).increment()
    if let error = error as? StoreError {
      context.health.failed(error, part.rawValue)
      if error.isOutage { return }
    }
    let text = "\(error)"
    guard failures.withLock({ $0.updateValue(text, forKey: part) }) != text else { return }
    context.logger.error(
      "a part of the maintenance failed and is tried again", ["part": "\(part.rawValue)", .error: "\(text)"])
  }
}

/// A record that its flow cannot read is skipped: it must not block the others, nor keep its keys from new records.
struct Sweeper: Sendable {
  let context: EngineContext

  /// Delay before a skipped record is tried again: another version of the program may run by then.
  static let pause = Duration.seconds(3600)
  static let maxRecords = 256
  /// Records of one sweep that the log names. More would add nothing.
  static let maxLogged = 16

  /// Ends the records of a kind that have been due longest. When the content of one of them makes the transaction fail,
  /// each gets a transaction of its own. Any other failure may be the store's, and is held against no record.
  func sweep(_ due: DueRecords) async throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try await sweep(due, limit: Self.maxRecords)
    } catch {
      guard error.fault == .content else { throw error }
    }
    for _ in 0..<Self.maxRecords {
      do throws(StoreError) {
        guard try await sweep(due, limit: 1) else { return false }
      } catch {
        guard error.fault == .content else { throw error }
        try await stepAround(due.kind, error)
      }
    }
    return true
  }

  private func stepAround(_ kind: RecordKind, _ error: StoreError) async throws(StoreError) {
    let claim = DueClaim(kind, limit: 1, pause: Self.pause)
    let outcome = try await context.store.sweep(claim, at: context.clock.now()) { records, set throws(StoreError) in
      for record in records { try Self.stepAround(record, in: &set) }
    }
    _ = try context.stored(outcome)
    note([error], unreadable: 0, kind)
  }

  private func sweep(_ due: DueRecords, limit: Int) async throws(StoreError) -> Bool {
    let claim = DueClaim(due.kind, limit: limit, pause: Self.pause)
    let outcome = try await context.store.sweep(claim, at: context.clock.now()) { records, set throws(StoreError) in
      var errors: [StoreError] = []
      for record in records {
        let misses = set.missCount
        do throws(StoreError) {
          try set.attempt { set throws(StoreError) in try due.end(record, &set) }
        } catch {
          // What one record misses is loaded with what the others miss.
          if set.missCount != misses { continue }
          guard error.fault == .content || error.code == .notLoaded else { throw error }
          errors.append(error)
          try Self.stepAround(record, in: &set)
        }
      }
      return (errors, sent: set.outgoing.count, effects: set.effects)
    }
    let (swept, _) = try context.stored(outcome)
    context.finish(sent: swept.result.sent, swept.result.effects)
    note(swept.result.0, unreadable: swept.unreadable, due.kind)
    return swept.rows >= claim.limit
  }

  /// Deletes it if it is over, as a readable one would be. Otherwise puts it off, and gives its keys free.
  private static func stepAround(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    if let discardAt = record.discardAt, discardAt <= set.now { return try set.remove(record.id) }
    var record = record
    record.dueAt = set.now + pause
    record.uniqueKeys = []
    try set.put(record)
  }

  private func note(_ errors: [StoreError], unreadable: Int, _ kind: RecordKind) {
    let count = errors.count + unreadable
    guard count > 0 else { return }
    context.metrics.skippedRows.with(kind.name).increment(by: UInt64(count))
    let all = errors + Array(repeating: StoreError.unreadableBody, count: unreadable)
    for error in all.prefix(Self.maxLogged) {
      context.logger.error(
        "a due row cannot be processed and is skipped",
        ["table": "\(kind.name)", .error: error.description, .retryIn: Self.pause])
    }
  }
}
