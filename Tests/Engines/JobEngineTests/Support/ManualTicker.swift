import Synchronization
import TestSupport

@testable import JobEngine

final class ManualTicker: Ticker {
  private struct State {
    var waiter: CheckedContinuation<Void, Never>?
    var isCancelled = false
    var limit: Duration?
    var wakes = 0
  }

  private let state = Mutex(State())

  func next(within limit: Duration) async {
    state.withLock { $0.limit = limit }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          if !state.isCancelled { state.waiter = continuation }
          return state.isCancelled
        }
        if isCancelled { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.isCancelled = true
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }
  }

  func wake() { state.withLock { $0.wakes += 1 } }

  var limit: Duration? { state.withLock { $0.limit } }
  var wakes: Int { state.withLock { $0.wakes } }

  func tick() async throws {
    try await eventually("the worker waits for a tick") { self.isAwaited }
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
    try await eventually("the worker has ticked") { self.isAwaited }
  }

  private var isAwaited: Bool { state.withLock { $0.waiter != nil || $0.isCancelled } }
}
