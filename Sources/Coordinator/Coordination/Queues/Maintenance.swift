import CountersignTelemetry
import SQLite

/// Runs the periodic tasks once a second: ends due rows, publishes leftovers, deletes old rows.
final class Maintenance: Sendable {
  /// Parts of a round.
  struct Parts: Sendable {
    var sweeper: VerificationSweeper
    var purger: Purger
    var relay: OutboxRelay
    var operations: OperationSweeper
    var held: HeldJobs
    var conversions: ConversionSweeper
  }

  private let parts: Parts
  private let interval: Duration
  private let health: StorageHealth
  private let metrics: CoordinatorMetrics
  private let logger: Logger

  /// Maximum transactions of one kind in a row; the rest waits for the next round, so that commands are not delayed.
  static let maxRounds = 16

  init(
    _ parts: Parts, interval: Duration, health: StorageHealth, metrics: CoordinatorMetrics, logger: Logger
  ) {
    self.parts = parts
    self.interval = interval
    self.health = health
    self.metrics = metrics
    self.logger = logger
  }

  /// Runs until the task is canceled.
  func run() async {
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

  func publishLeftovers() async {
    await attempt(.publishLeftovers) { try await self.parts.relay.relay() }
    await attempt(.releaseHeldJobs) { try await self.parts.held.releaseOverdue() }
  }

  /// Runs one round. A part that fails is reported, and does not prevent the others. The deadlines are processed in a
  /// transaction that writes whether or not one is due, which shows whether the database accepts writes when no command
  /// arrives.
  func tidy() async {
    await attempt(.noteOutages) {
      try await self.parts.conversions.listen()
      return false
    }
    await attempt(.endVerifications) { try await self.parts.sweeper.sweep() }
    await attempt(.storeBlocks) { try await self.parts.conversions.sweep() }
    await attempt(.endOperations) { try await self.parts.operations.sweep() }
    await attempt(.purgeReplies) { try await self.parts.purger.purgeInbox() }
    await attempt(.purgeCounts) { try await self.parts.purger.purgeUsage() }
    await attempt(.purgeOutbox) {
      try await self.parts.relay.deleteConfirmed()
      return false
    }
  }

  private func attempt(_ part: MaintenancePart, _ step: @Sendable () async throws -> Bool) async {
    for _ in 0..<Self.maxRounds where !Task.isCancelled {
      do {
        let isMore = try await step()
        health.succeeded(part.rawValue)
        guard isMore else { return }
      } catch {
        guard !Task.isCancelled else { return }
        return note(error, part)
      }
    }
  }

  /// The broker's absence is not a fault of the database; its connections report it.
  private func note(_ error: any Error, _ part: MaintenancePart) {
    metrics.maintenanceFailures.with(part.rawValue).increment()
    if let error = error as? DatabaseError { health.failed(error, part.rawValue) }
    logger.error(
      "a part of the maintenance failed and is tried again", ["part": "\(part.rawValue)", .error: "\(error)"])
  }
}

/// A part of the maintenance. The word is its label in the metrics, and its name in `/readyz`.
enum MaintenancePart: String, Sendable, CaseIterable {
  case publishLeftovers = "publish_leftovers"
  case releaseHeldJobs = "release_held_jobs"
  case noteOutages = "note_outages"
  case endVerifications = "end_verifications"
  case storeBlocks = "store_blocks"
  case endOperations = "end_operations"
  case purgeReplies = "purge_replies"
  case purgeCounts = "purge_counts"
  case purgeOutbox = "purge_outbox"
}
