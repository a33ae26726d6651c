import Synchronization

/// The newest received elements, in the order of their arrival and by a key.
final class Journal<Element: Sendable>: Sendable {
  private struct Entry {
    let element: Element
    let key: String
    /// Number of the previous entry of the same key, or -1; it may be forgotten already.
    let previous: Int
  }

  private struct State {
    /// Ring of entries: number n is at n modulo the capacity.
    var ring: [Entry] = []
    var next = 0
    /// Number of the newest entry held, by key.
    var newest: [String: Int] = [:]

    var oldest: Int { next - ring.count }
  }

  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// Adds an element; a full journal forgets the oldest one.
  func append(_ element: Element, key: String) {
    state.withLock { state in
      let entry = Entry(element: element, key: key, previous: state.newest[key] ?? -1)
      if state.ring.count < capacity {
        state.ring.append(entry)
      } else {
        let oldest = state.ring[state.next % capacity].key
        if state.newest[oldest] == state.oldest { state.newest[oldest] = nil }
        state.ring[state.next % capacity] = entry
      }
      state.newest[key] = state.next
      state.next += 1
    }
  }

  /// The newest elements, oldest first; of one key, if given.
  func elements(of key: String?, limit: Int) -> [Element] {
    state.withLock { state in
      guard let key else {
        return (max(state.oldest, state.next - min(limit, capacity))..<state.next).map {
          state.ring[$0 % capacity].element
        }
      }
      var found: [Element] = []
      var number = state.newest[key] ?? -1
      while number >= state.oldest, found.count < limit {
        let entry = state.ring[number % capacity]
        found.append(entry.element)
        number = entry.previous
      }
      return found.reversed()
    }
  }

  func clear() { state.withLock { $0 = State() } }
}
