import Database
import Synchronization
import Telemetry

/// Does, once a second, what no delivery asks for: ends what is due, publishes what was left over, deletes what is old.
final class MaintenanceLoop: Sendable {
  private let sweeper: DeadlineSweeper
  private let purger: Purger
  private let relay: OutboxRelay
  private let operations: OperationSweeper
  private let held: HeldJobs
  private let conversions: ConversionSweeper
  private let interval: Duration
  private let health: StorageHealth
  private let logger: Logger
  private let usageCursor = Mutex("")

  /// Transactions of one kind in a row; what is left waits for the next round, so that commands are not kept waiting.
  static let maxRounds = 16

  init(
    sweeper: DeadlineSweeper, purger: Purger, relay: OutboxRelay, operations: OperationSweeper, held: HeldJobs,
    conversions: ConversionSweeper, interval: Duration, health: StorageHealth, logger: Logger
  ) {
    self.operations = operations
    self.held = held
    self.conversions = conversions
    self.sweeper = sweeper
    self.purger = purger
    self.relay = relay
    self.interval = interval
    self.health = health
    self.logger = logger
  }

  /// Runs until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      // On its own, because it waits for a broker that is away; deadlines and deletions do not.
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

  func publishLeftovers() async {
    await attempt("publishing what was left over") { try await self.relay.relay() }
    await attempt("publishing what waited for its reply") { try await self.held.releaseOverdue() }
  }

  /// One round. A part that fails is logged, and does not keep the others from running.
  func tidy() async {
    await attempt("noting an outage") {
      try await self.conversions.listen()
      return false
    }
    await attempt("ending what is due") { try await self.sweep() }
    await attempt("storing what is blocked") { try await self.conversions.sweep() }
    await attempt("ending what else is due") { try await self.operations.sweep() }
    await attempt("deleting old replies") { try await self.purger.purgeInbox() }
    await attempt("deleting old counts") { try await self.purgeUsage() }
    await attempt("deleting what was published") {
      try await self.relay.deleteConfirmed()
      return false
    }
  }

  /// Writes in every round, so that it shows whether the database takes anything when no command comes.
  private func sweep() async throws(DatabaseError) -> Bool {
    do throws(DatabaseError) {
      let isMore = try await sweeper.sweep()
      health.succeeded()
      return isMore
    } catch {
      health.failed(error)
      throw error
    }
  }

  private func purgeUsage() async throws -> Bool {
    let last = try await purger.purgeUsage(after: usageCursor.withLock { $0 })
    usageCursor.withLock { $0 = last ?? "" }
    // One step a round: the counts are small and nobody waits for them.
    return false
  }

  private func attempt(_ what: StaticString, _ step: @Sendable () async throws -> Bool) async {
    for _ in 0..<Self.maxRounds where !Task.isCancelled {
      do {
        guard try await step() else { return }
      } catch {
        guard !Task.isCancelled else { return }
        return logger.error("a part of the maintenance failed and is tried again", ["part": what, .error: "\(error)"])
      }
    }
  }
}
