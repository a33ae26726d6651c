/// Number of codes that came back recently, counted in ``slotCount`` slots.
///
/// A slot expires as a whole. So a window is up to one twelfth shorter than configured, and has at most twelve entries
/// however much is counted.
struct ConversionWindow: Sendable, Hashable {
  /// Slots of a window.
  static let slotCount: Int64 = 12

  private struct Slot: Sendable, Hashable {
    /// Time since 1970 in lengths of a slot.
    var number: Int64
    var counts: ConversionCounts
  }

  /// Oldest first.
  private var slots: [Slot] = []

  /// Counts a verification that ended in a slot. The slots may come in any order.
  /// - Parameter now: the counter's current slot. A slot further ahead than the next one was counted by a clock that
  ///   has been set back, and is dropped: otherwise it would push out the current ones.
  mutating func count(isVerified: Bool, in number: Int64, now: Int64) {
    if let last = slots.last, last.number > now + 1 { slots.removeAll { $0.number > now + 1 } }
    var index = slots.count
    while index > 0, slots[index - 1].number > number { index -= 1 }
    if index > 0, slots[index - 1].number == number {
      slots[index - 1].counts.add(isVerified: isVerified)
    } else {
      var slot = Slot(number: number, counts: ConversionCounts())
      slot.counts.add(isVerified: isVerified)
      slots.insert(slot, at: index)
      forget(before: slots[slots.count - 1].number)
    }
  }

  /// Uncounts a verification in a slot that still exists.
  mutating func withdraw(isVerified: Bool, in number: Int64) {
    guard let index = slots.firstIndex(where: { $0.number == number }) else { return }
    slots[index].counts.withdraw(isVerified: isVerified)
  }

  /// Sums the slots of the window that ends with this one.
  func counts(at number: Int64) -> ConversionCounts {
    var sum = ConversionCounts()
    for slot in slots where slot.number > number - Self.slotCount { sum += slot.counts }
    return sum
  }

  private mutating func forget(before newest: Int64) {
    guard let oldest = slots.first, oldest.number <= newest - Self.slotCount else { return }
    slots.removeAll { $0.number <= newest - Self.slotCount }
  }
}
