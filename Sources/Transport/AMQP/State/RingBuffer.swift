/// A first-in-first-out buffer over one array, with access by position.
struct RingBuffer<Element> {
  private var slots: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { count == 0 ? nil : slots[head] }

  /// - Parameter position: 0 is the oldest element; must be below `count`.
  subscript(position: Int) -> Element {
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

  mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[index(count)] = element
    count += 1
  }

  mutating func prepend(_ element: Element) {
    if count == slots.count { grow() }
    head = head == 0 ? slots.count - 1 : head - 1
    slots[head] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head].take()
    head = head + 1 == slots.count ? 0 : head + 1
    count -= 1
    return element
  }

  /// Empties the buffer, oldest element first. The storage is given back.
  mutating func drain() -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(count)
    while let element = popFirst() { result.append(element) }
    self = RingBuffer()
    return result
  }

  private func index(_ position: Int) -> Int {
    let index = head + position
    return index < slots.count ? index : index - slots.count
  }

  private mutating func grow() {
    var larger: [Element?] = []
    let capacity = Swift.max(16, slots.count * 2)
    larger.reserveCapacity(capacity)
    for position in 0..<count { larger.append(slots[index(position)].take()) }
    larger.append(contentsOf: repeatElement(nil, count: capacity - count))
    slots = larger
    head = 0
  }
}
