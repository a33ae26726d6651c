import CountersignConcurrency

/// The unconfirmed publications of one channel, in the order in which they were sent.
///
/// The broker counts publishes from 1 and names a number in `basic.ack` and `basic.nack`, for that publish or for all
/// up to it, in no particular order (RabbitMQ, "Consumer Acknowledgements and Publisher Confirms").
struct ConfirmTracker<Entry> {
  private struct Slot {
    /// `nil` once it is settled.
    var entry: Entry?
    var returned: (code: Int, text: String)?
  }

  private var base: UInt64 = 1
  private var slots = RingBuffer<Slot>()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  /// Distance from the oldest unsettled publication to the newest: number of slots in memory.
  var span: Int { slots.count }

  var oldest: Entry? {
    // `settle` keeps the first slot occupied.
    slots.first?.entry
  }

  mutating func append(_ entry: Entry) {
    slots.append(Slot(entry: entry))
    count += 1
  }

  /// The ack of a returned publication follows.
  mutating func markReturned(code: Int, text: String, matching matches: (Entry) -> Bool) -> Bool {
    for position in 0..<slots.count {
      let slot = slots[position]
      guard let entry = slot.entry, slot.returned == nil, matches(entry) else { continue }
      slots[position].returned = (code, text)
      return true
    }
    return false
  }

  mutating func settle(
    _ tag: UInt64, multiple: Bool, _ body: (Entry, _ returned: (code: Int, text: String)?) -> Void
  ) -> Bool {
    guard tag >= base, tag < base + UInt64(slots.count) else { return false }
    let target = Int(tag - base)
    for position in (multiple ? 0 : target)...target {
      let slot = slots[position]
      guard let entry = slot.entry else {
        if multiple { continue }
        return false
      }
      slots[position] = Slot()
      count -= 1
      body(entry, slot.returned)
    }
    while let first = slots.first, first.entry == nil {
      _ = slots.popFirst()
      base += 1
    }
    return true
  }

  /// Removes the unsettled publications, oldest first, and starts over: the channel is gone.
  mutating func reset() -> [Entry] {
    let entries = slots.drain().compactMap(\.entry)
    self = ConfirmTracker()
    return entries
  }
}

/// Decides when an unconfirmed publish is late. The clock stops while the broker does not read.
struct ConfirmClock {
  typealias Instant = ContinuousClock.Instant

  private let timeout: Duration
  /// Time at which the broker began to read. Earlier waiting does not count.
  private var readsSince: Instant?

  init(timeout: Duration) { self.timeout = timeout }

  mutating func start(at now: Instant) { readsSince = now }

  func due(oldest: Instant?, isBlocked: Bool) -> Instant? {
    guard let oldest, !isBlocked else { return nil }
    return max(oldest, readsSince ?? oldest) + timeout
  }
}
