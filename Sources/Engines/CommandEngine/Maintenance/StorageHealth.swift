public import ServiceRuntime
import Synchronization

/// Whether the store accepts writes. Each writing part reports for itself: the success of one says nothing about
/// another, whose table may be damaged. The maintenance writes each second.
public final class StorageHealth: Sendable {
  private let commands: String
  private let hint: String
  private let problems = Mutex<[String: String]>([:])

  /// - Parameters:
  ///   - commands: queue of the commands.
  ///   - hint: remedy for operators.
  init(commands: String, hint: String) {
    self.commands = commands
    self.hint = hint
  }

  /// Records a successful write of a part.
  func succeeded(_ part: String) {
    problems.withLock { $0[part] = nil }
  }

  /// Records a failed write of a part.
  func failed(_ error: StoreError, _ part: String) {
    problems.withLock { $0[part] = error.description }
  }

  /// Whether changes of commands cannot be stored. Without commands, the sweeps show it, which write to the same tables.
  public func keepsCommandsWaiting(orEnding part: MaintenancePart) -> Bool {
    problems.withLock { $0[commands] != nil || $0[part.rawValue] != nil }
  }

  /// State for `/readyz`.
  public var state: HealthState {
    problems.withLock { problems in
      guard let (part, problem) = problems.min(by: { $0.key < $1.key }) else { return .ok }
      return .failing("\(part): \(problem)", mend: hint)
    }
  }
}
