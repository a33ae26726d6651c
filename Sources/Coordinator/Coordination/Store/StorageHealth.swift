import CountersignMessages
import SQLite
import ServiceRuntime
import Synchronization

/// Whether the database accepts writes. Each writing part reports for itself: the success of one says nothing about
/// another, whose table may be damaged. The maintenance writes each second.
final class StorageHealth: Sendable {
  private let problems = Mutex<[String: String]>([:])

  /// Records a successful write of a part.
  func succeeded(_ part: String) {
    problems.withLock { $0[part] = nil }
  }

  /// Records a failed write of a part.
  func failed(_ error: DatabaseError, _ part: String) {
    problems.withLock { $0[part] = error.description }
  }

  /// Whether codes cannot be checked, because changes of commands cannot be stored. Without commands, the sweep of the
  /// verifications shows it, which writes to the same tables.
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

extension DatabaseError {
  /// Cause of a failure.
  enum Fault: Sendable, Hashable {
    /// The content or the affected row: others are not affected.
    case content
    /// Either: whether it meets every message, or one alone, decides.
    case doubtful
    /// The database or its environment: every message is affected, and none must suffer for it.
    case store
  }

  var fault: Fault {
    switch code {
    case .content, .constraint, .uniqueConstraint, .tooBig: .content
    // A statement that SQLite rejects belongs to one kind of message, or its table is damaged.
    case .sql, .misuse: .doubtful
    default: .store
    }
  }
}
