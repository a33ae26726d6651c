/// Windows of a bounded number of keys.
///
/// When there is no room for another key, those with empty windows go, and if that is not enough those with the fewest
/// verifications: an attacker who spreads traffic thinly to displace the busy keys only displaces their own.
struct ConversionTable: Sendable {
  /// Counts of one key.
  struct Figures: Sendable, Hashable {
    var key: String
    var region: String
    var counts: ConversionCounts
  }

  private struct Entry: Sendable {
    var region: String
    var window: ConversionWindow
    var sources = ConversionSources()
  }

  private let capacity: Int
  private var entries: [String: Entry] = [:]

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Counts a verification that ended in a slot.
  /// - Parameter now: the current slot, at which its window ends.
  /// - Returns: the updated counts of the window.
  mutating func count(
    _ key: String, in region: String, isVerified: Bool, slot: Int64, now: Int64
  ) -> ConversionCounts {
    if entries.count >= capacity, entries[key] == nil { makeRoom(at: now) }
    // In place: a copy would copy the window as well.
    return count(&entries[key, default: Entry(region: region, window: ConversionWindow())], isVerified, slot, now)
  }

  private func count(_ entry: inout Entry, _ isVerified: Bool, _ slot: Int64, _ now: Int64) -> ConversionCounts {
    entry.window.count(isVerified: isVerified, in: min(slot, now), now: now)
    return entry.window.counts(at: now)
  }

  /// Whether a code that did not come back counts for its asker; see ``ConversionSources``.
  mutating func admit(_ source: [UInt8], of key: String, in region: String, now: Int64) -> Bool {
    guard !source.isEmpty else { return true }
    if entries.count >= capacity, entries[key] == nil { makeRoom(at: now) }
    return entries[key, default: Entry(region: region, window: ConversionWindow())].sources.admit(source, now: now)
  }

  /// Uncounts a code that did not come back.
  /// - Returns: whether it had counted.
  mutating func withdraw(_ source: [UInt8], of key: String) -> Bool {
    entries[key]?.sources.withdraw(source) ?? true
  }

  /// Content of a window.
  func counts(_ key: String, now: Int64) -> ConversionCounts {
    entries[key]?.window.counts(at: now) ?? ConversionCounts(sent: 0, verified: 0)
  }

  /// Uncounts a verification in a slot.
  mutating func withdraw(_ key: String, isVerified: Bool, slot: Int64) {
    entries[key]?.window.withdraw(isVerified: isVerified, in: slot)
  }

  /// Starts a key from zero.
  mutating func forget(_ key: String) {
    entries[key] = nil
  }

  /// The counts, in no order.
  func figures(at now: Int64) -> [Figures] {
    entries.compactMap { key, entry in
      let counts = entry.window.counts(at: now)
      return counts.sent > 0 ? Figures(key: key, region: entry.region, counts: counts) : nil
    }
  }

  /// The keys with the most codes that did not come back, the worst first.
  static func worst(of figures: [Figures], limit: Int) -> [Figures] {
    Array(figures.sorted { isWorse($0, $1) }.prefix(limit))
  }

  var count: Int { entries.count }

  private static func isWorse(_ left: Figures, _ right: Figures) -> Bool {
    let (lost, other) = (left.counts.sent - left.counts.verified, right.counts.sent - right.counts.verified)
    return lost == other ? left.key < right.key : lost > other
  }

  /// Leaves at most three quarters of the room taken, so that it is made rarely.
  private mutating func makeRoom(at now: Int64) {
    let kept = capacity - max(1, capacity / 4)
    entries = entries.filter { $0.value.window.counts(at: now).sent > 0 }
    guard entries.count > kept else { return }
    let order = entries.map { (key: $0.key, sent: $0.value.window.counts(at: now).sent) }.sorted { $0.sent < $1.sent }
    for item in order.prefix(entries.count - kept) { entries[item.key] = nil }
  }
}
