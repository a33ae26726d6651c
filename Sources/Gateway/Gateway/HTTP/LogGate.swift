import CountersignTelemetry
import Synchronization

/// Lets one event a second into the log and counts the others, so that an outage does not fill it.
final class LogGate: Sendable {
  private struct State {
    var next: MonotonicTime?
    var withheld = 0
  }

  private static let interval: Duration = .seconds(1)
  private let state = Mutex(State())

  func admits(at now: MonotonicTime) -> Int? {
    state.withLock { state in
      if let next = state.next, now < next {
        state.withheld += 1
        return nil
      }
      defer { state = State(next: now + Self.interval) }
      return state.withheld
    }
  }
}
