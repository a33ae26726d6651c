/// A first-in-first-out buffer over one array, with access by position.
public struct RingBuffer<Element> {
  @usableFromInline var slots: [Element?] = []
  @usableFromInline var head = 0
  @usableFromInline var length = 0

  @inlinable public init() {}

  @inlinable public var count: Int { length }
  @inlinable public var isEmpty: Bool { count == 0 }
  @inlinable public var first: Element? { count == 0 ? nil : slots[head] }

  /// - Parameter position: distance from the oldest element, below `count`.
  @inlinable public subscript(position: Int) -> Element {
    get {
      precondition(position < count, "position beyond the end")
      guard let element = slots[index(position)] else { preconditionFailure("an empty slot inside the buffer") }
      return element
    }
    set {
      precondition(position < count, "position beyond the end")
      slots[index(position)] = newValue
    }
  }

  @inlinable public mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[index(count)] = element
    length += 1
  }

  @inlinable public mutating func prepend(_ element: Element) {
    if count == slots.count { grow() }
    head = head == 0 ? slots.count - 1 : head - 1
    slots[head] = element
    length += 1
  }

  @inlinable public mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head].take()
    head = head + 1 == slots.count ? 0 : head + 1
    length -= 1
    return element
  }

  /// Removes and returns all elements, oldest first, and frees the storage.
  @inlinable public mutating func drain() -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(count)
    while let element = popFirst() { result.append(element) }
    self = RingBuffer()
    return result
  }

  /// Removes all matching elements, slowly, and returns them, oldest first. The others keep their order.
  @inlinable public mutating func removeAll(where isMatch: (Element) -> Bool) -> [Element] {
    guard (0..<count).contains(where: { isMatch(self[$0]) }) else { return [] }
    var removed: [Element] = []
    var kept = RingBuffer()
    while let element = popFirst() {
      if isMatch(element) { removed.append(element) } else { kept.append(element) }
    }
    self = kept
    return removed
  }

  @inlinable func index(_ position: Int) -> Int {
    let index = head + position
    return index < slots.count ? index : index - slots.count
  }

  @inlinable mutating func grow() {
    var larger: [Element?] = []
    let capacity = Swift.max(16, slots.count * 2)
    larger.reserveCapacity(capacity)
    for position in 0..<count { larger.append(slots[index(position)].take()) }
    larger.append(contentsOf: repeatElement(nil, count: capacity - count))
    slots = larger
    head = 0
  }
}
