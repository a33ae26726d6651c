import Database
import ServiceRuntime
import Synchronization

/// Whether the database takes what is written. Every transaction tells it, and the maintenance writes each second.
final class StorageHealth: Sendable {
  private let problem = Mutex<String?>(nil)

  func succeeded() {
    problem.withLock { $0 = nil }
  }

  func failed(_ error: DatabaseError) {
    problem.withLock { $0 = error.description }
  }

  var state: HealthState {
    problem.withLock { problem in
      problem.map { .failing($0, mend: "look at the disk of database.path, and at who else uses the file") } ?? .ok
    }
  }
}
