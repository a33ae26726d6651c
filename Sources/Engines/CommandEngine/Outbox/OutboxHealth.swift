import CountersignTelemetry
public import ServiceRuntime
import Synchronization

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
