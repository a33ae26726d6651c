/// Askers for codes that did not come back, within the window of one region.
///
/// A region is closed to everybody, so one asker must not be able to close it: of each that is known so many count, and no more. Of those that are
/// not known, because a service says nothing of its clients, all count: without that, traffic that is pumped through such a service would never
/// be noticed. Prefixes are closed by whoever it is: they are ten thousand numbers, and what pumps traffic stays in few of them.
struct ConversionSources: Sendable, Hashable {
  /// Verifications of one asker that count: a fortieth of the least that closes a region by default.
  static let share = 5
  /// Askers that are told apart; of more, all count. With their hashes some 50 KB for a region.
  static let capacity = 1_024

  private var counts: [[UInt8]: Int] = [:]
  /// The slot in which the counting began.
  private var begin: Int64 = 0

  /// Takes note of one more.
  /// - Returns: whether it counts.
  mutating func admit(_ source: [UInt8], now: Int64) -> Bool {
    guard !source.isEmpty else { return true }
    if now - begin >= ConversionWindow.slotCount || now < begin { (counts, begin) = ([:], now) }
    guard let count = counts[source] else {
      if counts.count < Self.capacity { counts[source] = 1 }
      return true
    }
    counts[source] = count + 1
    return count < Self.share
  }

  /// Takes one back.
  /// - Returns: whether it had counted.
  mutating func withdraw(_ source: [UInt8]) -> Bool {
    guard let count = counts[source], count > 0 else { return true }
    counts[source] = count - 1
    return count <= Self.share
  }
}
