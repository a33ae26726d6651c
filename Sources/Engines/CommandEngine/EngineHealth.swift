import CountersignTelemetry
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

/// Whether all messages in the outbox can be published.
///
/// An unpublishable message is a bug of this program, since messages of others are validated when they arrive. So it is
/// reported for a while, although nothing waits behind it.
public final class OutboxHealth: Sendable {
  private struct State {
    var buried: (at: UnixTime, reason: String)?
    /// Messages of an earlier version that could not be carried over.
    var unreadable = 0
    /// Messages in the store that are set aside, by whichever process.
    var setAside = 0
  }

  private let clock: any WallClock
  private let known = Mutex(State())

  /// Time for which a buried message is reported: long enough for a check that looks every few minutes.
  static let memory = Duration.seconds(600)

  init(clock: any WallClock) {
    self.clock = clock
  }

  /// Records an unpublishable message.
  func buried(_ reason: String) {
    let now = clock.now()
    known.withLock { $0.buried = (now, reason) }
  }

  /// Records messages of an earlier version that this one cannot read.
  public func unreadable(more count: Int) {
    known.withLock { $0.unreadable += count }
  }

  /// Records further messages that were set aside, until the next ``measured(setAside:)``.
  func setAside(more count: Int) {
    known.withLock { $0.setAside += count }
  }

  /// Records the number of messages in the store that are set aside.
  func measured(setAside count: Int) {
    known.withLock { $0.setAside = count }
  }

  /// State for `/readyz`.
  public var state: HealthState {
    let now = clock.now()
    return known.withLock { state in
      let unreadable = state.unreadable + state.setAside
      if unreadable > 0 {
        return .failing(
          "\(unreadable) messages of the outbox cannot be read, so they are not published",
          mend: "another version of the program wrote them: run that version until they are gone")
      }
      guard let buried = state.buried, buried.at <= now, now < buried.at + Self.memory else { return .ok }
      return .failing(
        "a message could not be published and is a dead letter now: \(buried.reason)",
        mend: "countersign dead list; report it with the log of this time")
    }
  }
}
