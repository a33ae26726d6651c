import Synchronization

/// Bodies that wait for one of several connections: a lock, a bound, and one wake-up for many.
///
/// Not an `Inbox`: there are several consumers, each of which sleeps and is woken by itself, and a consumer takes a
/// part.
final class WorkQueue: Sendable {
  enum Admission {
    /// It waits; the connection with this number sleeps and must be woken, if there is one.
    case waiting(wake: Int?)
    case full
    case closed
  }

  private struct State {
    var waiting: [PendingBody] = []
    /// Bodies that wait here or were taken and have not run.
    var count = 0
    var idle: [Int]
    var isClosed = false
  }

  private let limit: Int
  private let state: Mutex<State>

  init(connections: Int, limit: Int) {
    self.limit = limit
    self.state = Mutex(State(idle: Array((0..<connections).reversed())))
  }

  func append(_ body: PendingBody) -> Admission {
    state.withLock { state in
      if state.isClosed { return .closed }
      if state.count >= limit { return .full }
      state.waiting.append(body)
      state.count += 1
      return .waiting(wake: state.idle.popLast())
    }
  }

  /// Takes up to `limit` waiting bodies, or lets the connection sleep if there are none.
  func take(_ limit: Int, for connection: Int) -> [PendingBody] {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.idle.append(connection)
        return []
      }
      guard state.waiting.count > limit else {
        let all = state.waiting
        state.waiting = []
        state.waiting.reserveCapacity(min(all.count, 256))
        return all
      }
      let some = Array(state.waiting.prefix(limit))
      state.waiting.removeFirst(limit)
      return some
    }
  }

  /// Takes all that waits.
  func takeAll() -> [PendingBody] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Taken bodies have run.
  func finish(_ count: Int) {
    state.withLock { $0.count -= count }
  }

  /// Refuses further bodies. Waiting ones still run.
  func close() {
    state.withLock { $0.isClosed = true }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  var waiting: Int { state.withLock { $0.count } }
}
