import CountersignMessages
import Synchronization

/// What came of the commands of a run.
final class LoadTally: Sendable {
  private struct State {
    var failed: [String: Int] = [:]
    var first: [Duration] = []
    var whole: [Duration] = []
  }

  private let state = Mutex(State())

  /// Those that failed, by the error's code.
  var failed: [String: Int] { state.withLock { $0.failed } }
  /// How many came to their end.
  var done: Int { state.withLock { $0.whole.count } }
  /// How long the first part took.
  var first: LatencySummary? { LatencySummary(state.withLock { $0.first }) }
  /// How long it took in all.
  var whole: LatencySummary? { LatencySummary(state.withLock { $0.whole }) }

  func add(first: Duration, whole: Duration) {
    state.withLock {
      $0.first.append(first)
      $0.whole.append(whole)
    }
  }

  func fail(_ code: String) { state.withLock { $0.failed[code, default: 0] += 1 } }

  func fail(_ error: any Error) {
    fail((error as? APIError)?.code.rawValue ?? String(describing: type(of: error)))
  }
}
