import Synchronization

/// Ring of the newest elements, in the order of their arrival and by a key.
struct Ring<Element: Sendable>: Sendable {
  private struct Entry {
    var element: Element
    let key: String
    /// Number of the previous entry of the same key, or -1. It may be forgotten already.
    let previous: Int
  }

  /// Entry number n is at n modulo the capacity.
  private var entries: [Entry] = []
  /// Number of the newest entry held, by key.
  private var newest: [String: Int] = [:]
  private let capacity: Int
  private(set) var next = 0

  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  var count: Int { entries.count }
  var keyCount: Int { newest.count }
  private var oldest: Int { next - entries.count }

  subscript(number: Int) -> Element {
    get { entries[number % capacity].element }
    set { entries[number % capacity].element = newValue }
  }

  /// A full ring forgets the oldest one, and returns it.
  @discardableResult mutating func append(_ element: Element, key: String) -> Element? {
    let entry = Entry(element: element, key: key, previous: newest[key] ?? -1)
    var forgotten: Entry?
    if entries.count < capacity {
      entries.append(entry)
    } else {
      forgotten = entries[next % capacity]
      if let key = forgotten?.key, newest[key] == oldest { newest[key] = nil }
      entries[next % capacity] = entry
    }
    newest[key] = next
    next += 1
    return forgotten?.element
  }

  /// Oldest first. Of one key, if given.
  func elements(of key: String?, limit: Int) -> [Element] {
    guard let key else { return (max(oldest, next - min(limit, capacity))..<next).map { self[$0] } }
    var found: [Element] = []
    var number = newest[key] ?? -1
    while number >= oldest, found.count < limit {
      let entry = entries[number % capacity]
      found.append(entry.element)
      number = entry.previous
    }
    return found.reversed()
  }
}

final class Journal<Element: Sendable>: Sendable {
  private let capacity: Int
  private let ring: Mutex<Ring<Element>>

  init(capacity: Int) {
    self.capacity = capacity
    ring = Mutex(Ring(capacity: capacity))
  }

  func append(_ element: Element, key: String) { ring.withLock { _ = $0.append(element, key: key) } }
  func elements(of key: String?, limit: Int) -> [Element] { ring.withLock { $0.elements(of: key, limit: limit) } }
  func clear() { ring.withLock { $0 = Ring(capacity: capacity) } }
}
