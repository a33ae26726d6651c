import CountersignConcurrency
import Synchronization

/// The broker bounds the unacknowledged messages of one connection. After a reconnect it delivers as many again while
/// the lost connection's jobs are still being carried out: this bounds both together.
final class InFlight: Sendable {
  private struct State {
    var count = 0
    var room: Latch?
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
    let room = state.withLock { state in
      state.count -= 1
      return state.count < limit ? state.room.take() : nil
    }
    room?.open()
  }

  /// One caller at a time.
  func waitForRoom() async {
    let room = state.withLock { state in
      state.room = state.count < limit ? nil : Latch()
      return state.room
    }
    await room?.waitIgnoringCancellation()
  }
}
