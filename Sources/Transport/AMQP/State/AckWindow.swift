import CountersignConcurrency

/// The unsettled deliveries of one channel, and which of them are finished but not acknowledged.
///
/// Delivery tags count up from 1, so the window is an array from the first unsettled tag. Deliveries finished without a
/// gap are acknowledged by one `ack(multiple)`: an individual one costs a quorum queue as much as one for hundreds.
struct AckWindow {
  struct Flush: Equatable {
    var upTo: UInt64?
    var alone: [UInt64] = []

    var isEmpty: Bool { upTo == nil && alone.isEmpty }
  }

  private enum State {
    case unsettled
    case finished
    /// Acknowledged or rejected on the wire.
    case settled
  }

  private struct Entry {
    let tag: UInt64
    var state = State.unsettled
  }

  /// Settled entries behind a gap are dropped once they outnumber this limit and the unsettled ones, so that one slow
  /// delivery does not make the window grow.
  private static let maxSettled = 256

  /// In the order of their tags.
  private var entries = RingBuffer<Entry>()
  private var lastTag: UInt64 = 0
  var entryCount: Int { entries.count }
  var delivered: UInt64 { lastTag }
  /// Number of deliveries that are finished and not acknowledged on the wire.
  private(set) var finished = 0
  /// Number of deliveries neither acknowledged nor rejected on the wire.
  private(set) var unacknowledged = 0
  private var lastCarried: UInt64 = 0
  private(set) var carried = 0
  /// Number of deliveries that the broker counts against the prefetch. The prefetch is per consumer: a new consumer on
  /// the same channel has all of it, regardless of deliveries left by earlier ones (RabbitMQ, "Consumer Prefetch").
  var outstanding: Int { unacknowledged - carried }

  /// Earlier deliveries do not count against its prefetch.
  mutating func startConsumer() {
    lastCarried = lastTag
    carried = unacknowledged
  }

  mutating func deliver(_ tag: UInt64) -> Bool {
    guard tag == lastTag + 1 else { return false }
    lastTag = tag
    entries.append(Entry(tag: tag))
    unacknowledged += 1
    return true
  }

  @discardableResult
  mutating func finish(_ tag: UInt64) -> Bool {
    guard let position = position(of: tag), case .unsettled = entries[position].state else { return false }
    entries[position].state = .finished
    finished += 1
    return true
  }

  mutating func reject(_ tag: UInt64) -> Bool {
    guard let position = position(of: tag), case .unsettled = entries[position].state else { return false }
    entries[position].state = .settled
    settled(tag)
    return true
  }

  mutating func flush(all: Bool = false) -> Flush {
    var result = Flush()
    while let entry = entries.first {
      if case .unsettled = entry.state { break }
      if case .finished = entry.state {
        // The target of an ack(multiple) must itself be unsettled at the broker, so a rejected tag cannot be it.
        result.upTo = entry.tag
        finished -= 1
        settled(entry.tag)
      }
      _ = entries.popFirst()
    }
    if all, finished > 0 { result.alone = flushBehindGap() }
    if entries.count - unacknowledged > max(Self.maxSettled, unacknowledged) { dropSettled() }
    return result
  }

  /// Drops all that is not settled: the broker gets it back at once, and none of its tags comes again.
  mutating func returnAll() {
    entries = RingBuffer()
    (finished, unacknowledged, carried, lastCarried) = (0, 0, 0, lastTag)
  }

  private mutating func flushBehindGap() -> [UInt64] {
    var alone: [UInt64] = []
    alone.reserveCapacity(finished)
    for position in 0..<entries.count {
      guard case .finished = entries[position].state else { continue }
      entries[position].state = .settled
      settled(entries[position].tag)
      alone.append(entries[position].tag)
    }
    finished = 0
    return alone
  }

  private mutating func settled(_ tag: UInt64) {
    unacknowledged -= 1
    if tag <= lastCarried { carried -= 1 }
  }

  private mutating func dropSettled() {
    for entry in entries.drain() {
      if case .settled = entry.state { continue }
      entries.append(entry)
    }
  }

  private func position(of tag: UInt64) -> Int? {
    guard let first = entries.first, tag >= first.tag, tag <= lastTag else { return nil }
    // Without gaps in the tags the position follows from the first one.
    let guess = Int(clamping: tag - first.tag)
    if guess < entries.count, entries[guess].tag == tag { return guess }
    var low = 0
    var high = min(guess, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].tag < tag { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].tag == tag ? low : nil
  }
}
