import CountersignTelemetry
import ServiceRuntime
import Synchronization

/// Whether all messages in the outbox can be published.
///
/// An unpublishable message is a bug of this program, since messages of others are validated when they arrive. So it is
/// reported for a while, although nothing waits behind it.
final class OutboxHealth: Sendable {
  private struct State {
    var buried: (at: UnixTime, reason: String)?
    /// Unreadable rows, by table.
    var unreadable: [String: Int] = [:]
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

  /// Records the number of unreadable rows of a table.
  func unreadable(_ count: Int, in table: String) {
    known.withLock { $0.unreadable[table] = count > 0 ? count : nil }
  }

  var state: HealthState {
    let now = clock.now()
    return known.withLock { state in
      if let (table, count) = state.unreadable.min(by: { $0.key < $1.key }) {
        return .failing(
          "\(count) rows of the table \(table) cannot be read, so their messages are not published",
          mend: "another version of the program wrote them: run that version until they are gone")
      }
      guard let buried = state.buried, buried.at <= now, now < buried.at + Self.memory else { return .ok }
      return .failing(
        "a message could not be published and is a dead letter now: \(buried.reason)",
        mend: "countersign dead list; report it with the log of this time")
    }
  }
}
