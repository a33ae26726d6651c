import Synchronization

/// Counts the jobs in flight, and makes the consumer loop wait while there are too many.
///
/// The broker bounds the unacknowledged messages of one connection. After a reconnect it delivers as many again while
/// the lost connection's jobs are still being carried out: this bounds both together.
final class InFlight: Sendable {
  private struct State {
    var count = 0
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let limit: Int
  private let onBegin: @Sendable () -> Void
  private let state = Mutex(State())

  init(limit: Int, onBegin: @escaping @Sendable () -> Void = {}) {
    self.limit = limit
    self.onBegin = onBegin
  }

  var count: Int { state.withLock { $0.count } }

  func begin(_ number: Int) {
    let wasIdle = state.withLock { state in
      defer { state.count += number }
      return state.count == 0
    }
    if wasIdle { onBegin() }
  }

  func end() {
    let waiter = state.withLock { state in
      state.count -= 1
      guard state.count < limit else { return nil as CheckedContinuation<Void, Never>? }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Suspends while there are too many jobs in flight. One caller at a time.
  func waitForRoom() async {
    if state.withLock({ $0.count < limit }) { return }
    await withCheckedContinuation { continuation in
      let hasRoom = state.withLock { state in
        if state.count >= limit { state.waiter = continuation }
        return state.count < limit
      }
      if hasRoom { continuation.resume() }
    }
  }
}
