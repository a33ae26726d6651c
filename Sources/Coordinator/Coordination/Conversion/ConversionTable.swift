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

/// Number of codes that were sent, and of those that came back.
struct ConversionCounts: Sendable, Hashable {
  /// Verifications that have ended and for which an SMS was sent that no provider reports as undelivered.
  var sent = 0
  /// Those among them that were approved.
  var verified = 0

  mutating func add(isVerified: Bool) {
    sent += 1
    if isVerified { verified += 1 }
  }

  /// Undoes ``add(isVerified:)``; a verification that was never added changes nothing.
  mutating func withdraw(isVerified: Bool) {
    guard isVerified ? verified > 0 : sent > verified else { return }
    sent -= 1
    if isVerified { verified -= 1 }
  }

  static func += (left: inout ConversionCounts, right: ConversionCounts) {
    left.sent += right.sent
    left.verified += right.verified
  }
}
