import Synchronization

/// Bounds the number of steps in progress.
public final class Window: Sendable {
  private struct State {
    var free: Int
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// - Parameter size: maximum number of steps, 1 or more.
  public init(_ size: Int) {
    state = Mutex(State(free: size))
  }

  /// Suspends while there is no room.
  public func enter() async {
    await withCheckedContinuation { continuation in
      let isIn = state.withLock { state in
        guard state.free > 0 else {
          state.waiters.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isIn { continuation.resume() }
    }
  }

  /// Makes room for another step.
  public func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
      state.free += 1
      return nil
    }
    next?.resume()
  }
}
