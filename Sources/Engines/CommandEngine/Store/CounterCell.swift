/// Number of events in one slot of a counter.
///
/// A window is the sum of its slots. An event of a limit that must be exact has a slot of its own millisecond; of a
/// large limit, 64ths of the window are slots; of a conversion, twelfths. Increments of several writers add up, so none
/// is lost; a decision may see those of others late, which overshoots a limit by at most a batch of each other writer.
public struct CounterCell: Sendable, Hashable {
  /// Start of the slot in the counter's own unit, usually milliseconds since 1970.
  public var slot: Int64
  /// Events in it. Increments may be negative, and so may a sum that was reduced twice: readers take it for 0.
  public var count: Int64

  /// - Parameters:
  ///   - slot: start of the slot.
  ///   - count: events in it.
  public init(slot: Int64, count: Int64) {
    self.slot = slot
    self.count = count
  }
}

/// Events of a counter from a slot on.
public struct CounterSum: Sendable, Hashable {
  /// The counter.
  public var key: CounterKey
  /// Sum of its cells, above 0.
  public var count: Int64

  /// - Parameters:
  ///   - key: the counter.
  ///   - count: sum of its cells.
  public init(key: CounterKey, count: Int64) {
    self.key = key
    self.count = count
  }
}
