/// Askers whose codes did not come back, within the window of one region.
///
/// A region is closed to everyone, so one asker must not be able to close it: of each known asker a fixed share counts.
/// All verifications of unknown askers count, because a service says nothing about its clients: otherwise, pumping
/// through such a service would go unnoticed. Prefixes are closed regardless of the asker: they are ten thousand
/// numbers, and pumping stays within few of them.
struct ConversionSources: Sendable, Hashable {
  /// Verifications of one asker that count: a fortieth of the default minimum that closes a region.
  static let share = 5
  /// Distinguished askers; beyond that, all count. With their hashes about 50 KB for a region.
  static let capacity = 1_024

  private var counts: [[UInt8]: Int] = [:]
  /// The slot in which counting began.
  private var begin: Int64 = 0

  /// Adds a verification of an asker.
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

  /// Removes one.
  /// - Returns: whether it had counted.
  mutating func withdraw(_ source: [UInt8]) -> Bool {
    guard let count = counts[source], count > 0 else { return true }
    counts[source] = count - 1
    return count <= Self.share
  }
}
