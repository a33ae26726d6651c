import Synchronization

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

  func checkpointFailed(_ error: DatabaseError) {
    state.withLock {
      $0.failedCheckpoints += 1
      $0.lastCheckpointError = error
    }
  }

  var snapshot: DatabaseStatistics { state.withLock { $0 } }
}
