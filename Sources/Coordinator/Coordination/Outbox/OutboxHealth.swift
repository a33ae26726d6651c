import CountersignTelemetry
import ServiceRuntime
import Synchronization

/// Whether all that the outbox holds can be published.
///
/// A message that cannot be published is a mistake of this program, since what others write is looked at when it comes in. So it is
/// told for a while, although nothing waits behind it.
final class OutboxHealth: Sendable {
  private struct State {
    var buried: (at: UnixTime, reason: String)?
    /// Rows that cannot be read, by table.
    var unreadable: [String: Int] = [:]
  }

  private let clock: any WallClock
  private let known = Mutex(State())

  /// Time for which a buried message is told of: long enough for a check that looks every few minutes.
  static let memory = Duration.seconds(600)

  init(clock: any WallClock) {
    self.clock = clock
  }

  /// Notes that a message could not be published.
  func buried(_ reason: String) {
    let now = clock.now()
    known.withLock { $0.buried = (now, reason) }
  }

  /// Notes how many rows of a table cannot be read.
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
