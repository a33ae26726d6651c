internal import Dispatch
internal import Synchronization

/// Ends waits whose time is over, on a queue of its own: the connection's queue may be inside a call that blocks.
final class Deadlines: Sendable {
  typealias Instant = ContinuousClock.Instant

  static let shared = Deadlines()
  /// How late a wait may end.
  private static let resolution = DispatchTimeInterval.milliseconds(20)

  private struct Wait {
    var end: Instant
    var expire: @Sendable () -> Void
  }

  private struct State {
    var nextID: UInt64 = 0
    var waits: [UInt64: Wait] = [:]
    var isTicking = false
  }

  private let queue = DispatchQueue(label: "amqp.deadlines")
  private let state = Mutex(State())

  /// - Parameter expire: called at most once, and not after `remove`; must not block.
  func add(_ end: Instant, _ expire: @escaping @Sendable () -> Void) -> UInt64 {
    let (id, starts) = state.withLock { state in
      state.nextID += 1
      state.waits[state.nextID] = Wait(end: end, expire: expire)
      defer { state.isTicking = true }
      return (state.nextID, !state.isTicking)
    }
    if starts { tickLater() }
    return id
  }

  func remove(_ id: UInt64) {
    _ = state.withLock { $0.waits.removeValue(forKey: id) }
  }

  private func tickLater() {
    queue.asyncAfter(deadline: .now() + Self.resolution) { self.tick() }
  }

  private func tick() {
    let now = ContinuousClock.now
    let (expired, goesOn) = state.withLock { state in
      let expired = state.waits.filter { $0.value.end <= now }
      for id in expired.keys { state.waits.removeValue(forKey: id) }
      state.isTicking = !state.waits.isEmpty
      return (expired, state.isTicking)
    }
    for wait in expired.values { wait.expire() }
    if goesOn { tickLater() }
  }
}
