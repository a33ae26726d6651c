import CountersignConcurrency

/// The publications of one channel that the broker has not confirmed, in the order they were sent.
///
/// The broker counts publishes from 1 on and names that number in `basic.ack` and `basic.nack`, alone or up to it, in
/// no particular order (RabbitMQ, "Consumer Acknowledgements and Publisher Confirms").
struct ConfirmTracker<Entry> {
  private struct Slot {
    /// `nil` once it is settled.
    var entry: Entry?
    var returned: (code: Int, text: String)?
  }

  /// Sequence number of the first slot.
  private var base: UInt64 = 1
  private var slots = RingBuffer<Slot>()
  /// Sent and not settled.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  /// From the oldest one not settled to the newest: what the tracker holds memory for.
  var span: Int { slots.count }

  /// The oldest publication that is not settled.
  var oldest: Entry? {
    // `settle` keeps the first slot occupied.
    slots.first?.entry
  }

  /// Notes that the entry is sent next.
  mutating func append(_ entry: Entry) {
    slots.append(Slot(entry: entry))
    count += 1
  }

  /// Notes that the oldest publication that `matches`, and was not returned yet, came back. Its ack follows.
  ///
  /// - Returns: false when there is none.
  mutating func markReturned(code: Int, text: String, matching matches: (Entry) -> Bool) -> Bool {
    for position in 0..<slots.count {
      let slot = slots[position]
      guard let entry = slot.entry, slot.returned == nil, matches(entry) else { continue }
      slots[position].returned = (code, text)
      return true
    }
    return false
  }

  /// Settles the publication `tag`, or all up to it; calls `body` for each with its return, if it came back.
  ///
  /// - Returns: false when the tag was never sent or is settled, which the broker never does.
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

  /// Takes what is not settled, oldest first, and starts to count anew: the channel is gone.
  mutating func reset() -> [Entry] {
    let entries = slots.drain().compactMap(\.entry)
    self = ConfirmTracker()
    return entries
  }
}
