import CountersignTelemetry
import RecordStore
public import ServiceRuntime
import Synchronization

/// Whether the store accepts writes. Each writing part reports for itself: the success of one says nothing about
/// another, whose table may be damaged. The maintenance writes each second.
///
/// An outage meets every part, again and again: the log has a line when it begins, and one when it is over.
public final class StorageHealth: Sendable {
  private struct State {
    var problems: [String: StoreError] = [:]
    var isOut = false

    mutating func follow() -> Bool {
      let wasOut = isOut
      isOut = problems.values.contains { $0.isOutage }
      return isOut != wasOut
    }
  }

  private let commands: String
  private let hint: String
  private let logger: Logger
  private let known = Mutex(State())

  init(commands: String, hint: String, logger: Logger) {
    self.commands = commands
    self.hint = hint
    self.logger = logger
  }

  func succeeded(_ part: String) {
    let isOver = known.withLock { state in
      state.problems.removeValue(forKey: part) != nil && state.follow()
    }
    if isOver { logger.info("the database takes writes again") }
  }

  func failed(_ error: StoreError, _ part: String) {
    let isOut: Bool? = known.withLock { state in
      state.problems[part] = error
      return state.follow() ? state.isOut : nil
    }
    guard let isOut else { return }
    guard isOut else { return logger.info("the database takes writes again") }
    logger.error(
      "the database takes no writes, which are tried again until it does",
      ["part": "\(part)", .error: error.description, .hint: hint])
  }

  /// Whether changes of commands cannot be stored. Without commands, the sweeps show it, which write to the same tables.
  public func keepsCommandsWaiting(orEnding part: MaintenancePart) -> Bool {
    known.withLock { $0.problems[commands] != nil || $0.problems[part.rawValue] != nil }
  }

  /// State for `/readyz`.
  public var state: HealthState {
    known.withLock { state in
      guard let (part, problem) = state.problems.min(by: { $0.key < $1.key }) else { return .ok }
      return .failing("\(part): \(problem.description)", hint: hint)
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

  func buried(_ reason: String) {
    let now = clock.now()
    known.withLock { $0.buried = (now, reason) }
  }

  /// Counted until the next ``measured(setAside:)``.
  func setAside(more count: Int) {
    known.withLock { $0.setAside += count }
  }

  func measured(setAside count: Int) {
    known.withLock { $0.setAside = count }
  }

  /// State for `/readyz`.
  public var state: HealthState {
    let now = clock.now()
    return known.withLock { state in
      if state.setAside > 0 {
        return .failing(
          "\(state.setAside) messages of the outbox cannot be read, so they are not published",
          hint: "another version of the program wrote them: run that version until they are gone")
      }
      guard let buried = state.buried, buried.at <= now, now < buried.at + Self.memory else { return .ok }
      return .failing(
        "a message could not be published and is a dead letter now: \(buried.reason)",
        hint: "countersign dead list; report it with the log of this time")
    }
  }
}
