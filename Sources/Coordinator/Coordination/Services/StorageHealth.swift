import CountersignMessages
import SQLite
import ServiceRuntime
import Synchronization

/// Whether the database takes what is written. Each part that writes tells it of itself: that one succeeds says nothing of another, whose
/// table may be damaged. The maintenance writes each second.
final class StorageHealth: Sendable {
  private let problems = Mutex<[String: String]>([:])

  /// Notes that a part could write.
  func succeeded(_ part: String) {
    problems.withLock { $0[part] = nil }
  }

  /// Notes that a part could not write.
  func failed(_ error: DatabaseError, _ part: String) {
    problems.withLock { $0[part] = error.description }
  }

  /// Whether nobody can give a code back, because what commands change cannot be stored. When no command comes, the sweep of
  /// the verifications shows it, which writes to the same tables.
  var keepsCommandsWaiting: Bool {
    problems.withLock { problems in
      problems[Topology.Queues.commands] != nil || problems[MaintenancePart.endVerifications.rawValue] != nil
    }
  }

  var state: HealthState {
    problems.withLock { problems in
      guard let (part, problem) = problems.min(by: { $0.key < $1.key }) else { return .ok }
      return .failing(
        "\(part): \(problem)", mend: "look at the disk of database.path, at the file, and at who else uses it")
    }
  }
}
