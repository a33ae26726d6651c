/// Forgets its oldest entries when it is full.
struct RecentMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    var value: Value
    let number: Int
  }

  private var entries: [Key: Entry] = [:]
  /// Entry number n is at n modulo the capacity.
  private var ring: [Key] = []
  private var next = 0
  private let capacity: Int

  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// A new entry is the newest one. A changed one keeps its place.
  subscript(_ key: Key) -> Value? {
    get { entries[key]?.value }
    set {
      guard let newValue else {
        entries[key] = nil
        return
      }
      if entries[key] != nil { entries[key]?.value = newValue } else { append(newValue, key) }
    }
  }

  mutating func removeAll() { self = RecentMap(capacity: capacity) }

  private mutating func append(_ value: Value, _ key: Key) {
    if ring.count < capacity {
      ring.append(key)
    } else {
      let oldest = ring[next % capacity]
      // An entry that was removed and added again has a later number, and its own place.
      if entries[oldest]?.number == next - capacity { entries[oldest] = nil }
      ring[next % capacity] = key
    }
    entries[key] = Entry(value: value, number: next)
    next += 1
  }
}
