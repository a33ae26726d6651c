import CountersignTelemetry
import Synchronization

/// Waits for times. Nothing happens by itself: the engine's ticks call `fire`, so tests need no sleep.
final class Timers: Sendable {
  private struct Sleeper {
    let at: MonotonicTime
    let outlastsStop: Bool
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var sleepers: [Int: Sleeper] = [:]
    var lastID = 0
    var isStopped = false
    /// Nothing is due before. Its wait may be canceled by now.
    var earliest: MonotonicTime?

    mutating func take(_ isOver: (Sleeper) -> Bool) -> [Sleeper] {
      let taken = sleepers.filter { isOver($0.value) }
      for id in taken.keys { sleepers.removeValue(forKey: id) }
      earliest = sleepers.values.lazy.map(\.at).min()
      return Array(taken.values)
    }
  }

  private let state = Mutex(State())

  var earliest: MonotonicTime? { state.withLock { $0.earliest } }

  /// - Returns: whether the time has come.
  func sleep(until time: MonotonicTime, outlastsStop: Bool = false) async -> Bool {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if Task.isCancelled || state.isStopped && !outlastsStop { return true }
          state.sleepers[id] = Sleeper(at: time, outlastsStop: outlastsStop, continuation: continuation)
          state.earliest = state.earliest.map { min($0, time) } ?? time
          return false
        }
        if isOver { continuation.resume(returning: false) }
      }
    } onCancel: {
      let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
      sleeper?.continuation.resume(returning: false)
    }
  }

  func fire(now: MonotonicTime) {
    let due = state.withLock { state in
      guard let earliest = state.earliest, earliest <= now else { return [Sleeper]() }
      return state.take { $0.at <= now }
    }
    for sleeper in due { sleeper.continuation.resume(returning: true) }
  }

  /// Ends all waits that do not outlast a stop, now and later ones.
  func stopSleeping() {
    let sleepers = state.withLock { state in
      state.isStopped = true
      return state.take { !$0.outlastsStop }
    }
    for sleeper in sleepers { sleeper.continuation.resume(returning: false) }
  }
}
