public import CountersignTelemetry
import Synchronization

/// Figures of a database since it was opened, for metrics and health checks.
public struct DatabaseStatistics: Sendable {
  /// Transactions of `write`, each of one or more bodies.
  public var groups = 0
  /// Bodies of `write` that were dealt with.
  public var bodies = 0
  /// Transactions that failed, with all of their bodies.
  public var failedGroups = 0
  /// Bodies of `write` that wait or run now.
  public var waitingWrites = 0
  /// Bodies of `read` that wait or run now.
  public var waitingReads = 0
  /// Failures to copy the write-ahead log to the database. The commits are safe, but the log grows.
  public var failedCheckpoints = 0
  /// The last failure to copy the log.
  public var lastCheckpointError: StoreError?
}

/// The writer's figures, updated once a group.
final class Counters: Sendable {
  private let state = Mutex(DatabaseStatistics())

  func group(of bodies: Int, failed: Bool) {
    state.withLock {
      $0.groups += 1
      $0.bodies += bodies
      if failed { $0.failedGroups += 1 }
    }
  }

  func checkpointFailed(_ error: StoreError) {
    state.withLock {
      $0.failedCheckpoints += 1
      $0.lastCheckpointError = error
    }
  }

  var snapshot: DatabaseStatistics { state.withLock { $0 } }
}
