import CountersignTelemetry
import Synchronization

/// Delayed actions. Nothing happens by itself: the engine's ticks call `fire`, so tests need no sleep.
final class Timers: Sendable {
  private struct Entry {
    var at: MonotonicTime
    /// Runs on the task that ticks, outside the lock. It must be short.
    var action: @Sendable () -> Void
  }

  private struct Sleeper {
    var at: MonotonicTime
    var continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var sleepers: [Int: Sleeper] = [:]
    var lastID = 0
    var isStopped = false
    /// Nothing is due before. Its action may be canceled by now.
    var earliest: MonotonicTime?

    mutating func planned(at time: MonotonicTime) {
      earliest = earliest.map { min($0, time) } ?? time
    }

    mutating func nextID() -> Int {
      lastID += 1
      return lastID
    }
  }

  private typealias Awake = CheckedContinuation<Bool, Never>

  private let state = Mutex(State())

  /// Time before which nothing is due.
  var earliest: MonotonicTime? { state.withLock { $0.earliest } }

  func schedule(at time: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      let id = state.nextID()
      state.entries[id] = Entry(at: time, action: action)
      state.planned(at: time)
      return id
    }
  }

  func cancel(_ id: Int) {
    state.withLock { _ = $0.entries.removeValue(forKey: id) }
  }

  /// Waits until a time.
  func sleep(until time: MonotonicTime) async -> Bool {
    await withCheckedContinuation { continuation in
      let isStopped = state.withLock { state in
        guard !state.isStopped else { return true }
        state.sleepers[state.nextID()] = Sleeper(at: time, continuation: continuation)
        state.planned(at: time)
        return false
      }
      if isStopped { continuation.resume(returning: false) }
    }
  }

  func fire(now: MonotonicTime) {
    let (actions, awake) = state.withLock { state in
      guard let earliest = state.earliest, earliest <= now else { return ([@Sendable () -> Void](), [Awake]()) }
      let due = state.entries.filter { $0.value.at <= now }
      for id in due.keys { state.entries.removeValue(forKey: id) }
      let slept = state.sleepers.filter { $0.value.at <= now }
      for id in slept.keys { state.sleepers.removeValue(forKey: id) }
      let rest = state.entries.values.lazy.map(\.at).min()
      state.earliest = [rest, state.sleepers.values.lazy.map(\.at).min()].compactMap { $0 }.min()
      return (due.values.map(\.action), slept.values.map(\.continuation))
    }
    for action in actions { action() }
    for continuation in awake { continuation.resume(returning: true) }
  }

  /// Ends all waits, now and later ones. Scheduled actions stay.
  func stopSleeping() {
    let sleepers = state.withLock { state in
      state.isStopped = true
      defer { state.sleepers.removeAll() }
      return state.sleepers.values.map(\.continuation)
    }
    for continuation in sleepers { continuation.resume(returning: false) }
  }

  /// Number of scheduled actions and waits.
  var count: Int { state.withLock { $0.entries.count + $0.sleepers.count } }
}
