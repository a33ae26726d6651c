import Synchronization

/// Drives the engine's time: at each tick, timers fire, lanes advance, and pauses are decided.
protocol Ticker: Sendable {
  /// Suspends until the next tick. Ends early when its task is canceled. One caller at a time.
  func next(within limit: Duration) async
  /// Brings a later tick forward to now. Does not wait.
  func wake()
}

/// Ticks every 25 ms while work is in progress, the granularity of timeouts and rate limits, and rarely otherwise.
final class SystemTicker: Ticker {
  /// The shortest time between ticks. Forty wakes a second cost about a millisecond of CPU.
  static let interval: Duration = .milliseconds(25)

  private struct State {
    var isAwake = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func next(within limit: Duration) async {
    guard limit > Self.interval else { return await Self.sleep(Self.interval) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await Self.sleep(limit) }
      group.addTask { await self.waitForWake() }
      await group.next()
      group.cancelAll()
    }
  }

  func wake() {
    let waiter = state.withLock { state in
      state.isAwake = true
      return state.waiter.take()
    }
    waiter?.resume()
  }

  private func waitForWake() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if !state.isAwake, !Task.isCancelled { state.waiter = continuation }
          return state.waiter == nil
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
    state.withLock { $0.isAwake = false }
  }

  private static func sleep(_ duration: Duration) async {
    do {
      try await Task.sleep(for: duration)
    } catch {
      // Canceled: the caller checks its task and ends.
    }
  }
}
