import CountersignConcurrency
import Dispatch
import Synchronization

/// Ends waits at their deadlines, on a queue of its own: the connection's queue may be inside a blocking call.
///
/// Waits are kept in time slots: adding, removing and expiring one does not touch the others, and nothing wakes up
/// while no wait is over.
final class Deadlines: Sendable {
  typealias Instant = ContinuousClock.Instant

  struct Key: Sendable, Hashable {
    fileprivate var slot: Int64
    fileprivate var number: UInt64
  }

  static let shared = Deadlines()
  private static let resolution: Duration = .milliseconds(20)

  private struct State {
    var lastNumber: UInt64 = 0
    var slots: [Int64: [UInt64: @Sendable () -> Void]] = [:]
    /// Slot for which the queue is woken. Later slots are scheduled then.
    var wakesAt: Int64?
  }

  private let queue = DispatchQueue(label: "amqp.deadlines")
  private let state = Mutex(State())
  private let origin = Instant.now

  func add(_ end: Instant, _ expire: @escaping @Sendable () -> Void) -> Key {
    // Rounded up: no wait ends before its time.
    let slot = slot(of: end) + 1
    let (key, wakes) = state.withLock { state in
      state.lastNumber += 1
      state.slots[slot, default: [:]][state.lastNumber] = expire
      let wakes = state.wakesAt.map { slot < $0 } ?? true
      if wakes { state.wakesAt = slot }
      return (Key(slot: slot, number: state.lastNumber), wakes)
    }
    if wakes { wake(at: slot) }
    return key
  }

  func remove(_ key: Key) {
    state.withLock { state in
      _ = state.slots[key.slot]?.removeValue(forKey: key.number)
      if state.slots[key.slot]?.isEmpty == true { state.slots.removeValue(forKey: key.slot) }
    }
  }

  private func slot(of time: Instant) -> Int64 {
    max(0, origin.duration(to: time).nanoseconds) / Self.resolution.nanoseconds
  }

  private func wake(at slot: Int64) {
    let time = origin + Self.resolution * Int(clamping: slot)
    queue.asyncAfter(deadline: .now() + Instant.now.duration(to: time).dispatchInterval) { self.expire(slot) }
  }

  private func expire(_ planned: Int64) {
    let now = slot(of: .now)
    let (expired, next) = state.withLock { state in
      var expired: [@Sendable () -> Void] = []
      for slot in state.slots.keys.filter({ $0 <= now }) {
        expired += (state.slots.removeValue(forKey: slot) ?? [:]).values
      }
      // An earlier wake-up was scheduled in the meantime and takes care of the rest.
      guard state.wakesAt == planned else { return (expired, Int64?.none) }
      state.wakesAt = state.slots.keys.min()
      return (expired, state.wakesAt)
    }
    for expire in expired { expire() }
    if let next { wake(at: next) }
  }
}
