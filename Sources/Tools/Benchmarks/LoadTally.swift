import CountersignMessages
import Synchronization

/// Outcomes and latencies of the commands of a run.
final class LoadTally: Sendable {
  private struct State {
    var failed: [String: Int] = [:]
    var first: [Duration] = []
    var whole: [Duration] = []
  }

  private let state = Mutex(State())

  /// Numbers of failures, by error code.
  var failed: [String: Int] { state.withLock { $0.failed } }
  var done: Int { state.withLock { $0.whole.count } }
  /// Latencies of the first part.
  var first: LatencySummary? { LatencySummary(state.withLock { $0.first }) }
  var whole: LatencySummary? { LatencySummary(state.withLock { $0.whole }) }

  func add(first: Duration, whole: Duration) {
    state.withLock {
      $0.first.append(first)
      $0.whole.append(whole)
    }
  }

  func fail(_ code: String) { state.withLock { $0.failed[code, default: 0] += 1 } }

  func fail(_ error: any Error) {
    fail(
      (error as? APIError)?.code.rawValue ?? (error as? GatewayRefusal)?.code ?? String(describing: type(of: error)))
  }
}
