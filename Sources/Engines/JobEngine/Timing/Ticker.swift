import Synchronization

/// What moves the engine's time on: timers fire, lanes are advanced, pauses are decided at each tick.
protocol Ticker: Sendable {
  /// Suspends until the next tick; ends early when its task is cancelled. One caller at a time.
  /// - Parameter limit: When the tick is to come, unless `wake` is called before.
  func next(within limit: Duration) async
  /// Lets a tick come now that was to come later. Does not wait.
  func wake()
}

/// Ticks that come every 25 ms while anything is under way, the grain of time-outs and of rate limits, and seldom otherwise.
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
      // Cancelled: the caller looks at its task and ends.
    }
  }
}
