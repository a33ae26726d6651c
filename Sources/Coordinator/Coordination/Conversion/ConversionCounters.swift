import CommandEngine
import CountersignTelemetry

struct ConversionKey: Sendable, Hashable {
  var scope: ConversionBlock.Scope
  var key: String
  var region: String

  init(_ scope: ConversionBlock.Scope, of ending: ConversionEnding) {
    self.scope = scope
    region = ending.region
    switch scope {
    case .prefix: key = ending.prefix
    case .region: key = ending.region
    }
  }

  init(_ block: ConversionBlock) {
    (scope, key, region) = (block.scope, block.key, block.region)
  }

  fileprivate init(_ scope: ConversionBlock.Scope, named rest: String) {
    self.scope = scope
    switch scope {
    case .prefix:
      let parts = rest.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      region = parts.first.map(String.init) ?? ""
      key = parts.last.map(String.init) ?? ""
    case .region: (key, region) = (rest, rest)
    }
  }

  /// The rest of its counters' names. No region holds a space.
  fileprivate var name: String {
    switch scope {
    case .prefix: "\(region) \(key)"
    case .region: region
    }
  }
}

/// Codes that were sent and codes that came back, as counters of the store, in ``slotCount`` slots of the window.
///
/// A slot expires as a whole, so a window may be up to one twelfth shorter than configured. A slot is named by its
/// beginning, so that counts outlive a change of the window.
struct ConversionCounters: Sendable {
  static let slotCount: Int64 = 12
  /// Missing codes of one asker that count within a window: a fortieth of the default minimum that closes a region.
  ///
  /// One asker must not be able to close a region to everyone. All verifications of unknown askers count: otherwise
  /// pumping through a service that does not identify its clients would go unnoticed. Prefixes are closed regardless of
  /// the asker.
  static let share: Int64 = 5

  /// In milliseconds.
  private let length: Int64

  init(_ policy: ConversionPolicy) {
    length = max(1, policy.window.wholeMilliseconds / Self.slotCount)
  }

  // MARK: Names

  /// Stored, so they never change their meaning.
  private enum Name: String {
    case prefixMissing = "cpm"
    case prefixVerified = "cpv"
    case regionMissing = "crm"
    case regionVerified = "crv"
    /// Missing codes of an asker in a region that count.
    case share = "cra"
    /// Further ones, which do not.
    case excess = "crx"

    static func missing(_ scope: ConversionBlock.Scope) -> Name {
      switch scope {
      case .prefix: prefixMissing
      case .region: regionMissing
      }
    }

    static func verified(_ scope: ConversionBlock.Scope) -> Name {
      switch scope {
      case .prefix: prefixVerified
      case .region: regionVerified
      }
    }

    func key(_ rest: String) throws(StoreError) -> CounterKey {
      try CounterKey(Array(rawValue.utf8) + Array(rest.utf8))
    }

    /// Hashes have 16 bytes.
    func key(_ source: [UInt8], in region: String) throws(StoreError) -> CounterKey {
      try CounterKey(Array(rawValue.utf8) + Array(region.utf8) + [UInt8(ascii: ":")] + source.prefix(32))
    }
  }

  func addKeys(of key: ConversionKey, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    let (missing, verified) = try Self.counters(of: key)
    for counter in [missing, verified] { keys.add(counter: counter, since: first(at: now)) }
  }

  private static func counters(
    of key: ConversionKey
  ) throws(StoreError) -> (missing: CounterKey, verified: CounterKey) {
    (try Name.missing(key.scope).key(key.name), try Name.verified(key.scope).key(key.name))
  }

  /// The counter of an ending: a code that came back, or one that is missing. Each ending increments one of the two.
  private static func counter(of ending: ConversionEnding, for key: ConversionKey) throws(StoreError) -> CounterKey {
    try (ending.outcome == .verified ? Name.verified(key.scope) : .missing(key.scope)).key(key.name)
  }

  func addKeys(
    ofSource source: [UInt8], in region: String, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    guard !source.isEmpty else { return }
    for name in [Name.share, .excess] {
      keys.add(counter: try name.key(source, in: region), since: first(at: now))
    }
  }

  // MARK: Slots

  private func slot(_ time: UnixTime) -> Int64 { time.milliseconds / length * length }

  private func first(at now: UnixTime) -> Int64 { slot(now) - (Self.slotCount - 1) * length }

  /// A cell further ahead than the next slot was counted by a clock that has been set back.
  private func window(at now: UnixTime) -> ClosedRange<Int64> { first(at: now)...(slot(now) + length) }

  private func slot(of ending: ConversionEnding, at now: UnixTime) -> Int64? {
    let slot = min(slot(ending.endedAt), slot(now))
    return slot >= first(at: now) ? slot : nil
  }

  private func add(_ number: Int64, to counter: CounterKey, in slot: Int64, _ set: inout WorkingSet) {
    set.count(
      counter, in: slot, by: number, keepUntil: UnixTime(milliseconds: slot + Self.slotCount * length))
  }

  private func cells(_ counter: CounterKey, _ set: WorkingSet) -> [CounterCell] {
    set.cells(of: counter, since: first(at: set.now))
  }

  private func sum(_ counter: CounterKey, _ set: WorkingSet) -> Int64 {
    let window = window(at: set.now)
    return max(0, cells(counter, set).reduce(0) { window.contains($1.slot) ? $0 + $1.count : $0 })
  }

  private func count(_ counter: CounterKey, in slot: Int64, _ set: WorkingSet) -> Int64 {
    max(0, cells(counter, set).first { $0.slot == slot }?.count ?? 0)
  }

  /// Drops cells from a clock that was ahead: otherwise they would hide the present ones, or count once their time has
  /// come.
  private func dropFuture(_ counter: CounterKey, _ set: inout WorkingSet) {
    let (cells, window) = (cells(counter, set), window(at: set.now))
    guard let newest = cells.last, newest.slot > window.upperBound else { return }
    set.forget(counter: counter)
    for cell in cells where window.contains(cell.slot) { add(cell.count, to: counter, in: cell.slot, &set) }
  }

  // MARK: Counting

  func counts(of key: ConversionKey, in set: WorkingSet) throws(StoreError) -> ConversionCounts {
    let (missing, verified) = try Self.counters(of: key)
    let back = Int(sum(verified, set))
    return ConversionCounts(sent: Int(sum(missing, set)) + back, verified: back)
  }

  func count(_ ending: ConversionEnding, for key: ConversionKey, in set: inout WorkingSet) throws(StoreError) {
    guard let slot = slot(of: ending, at: set.now) else { return }
    // A code that came back is added to cells that are not looked at. Both counters are whenever a code is missing.
    if ending.outcome != .verified {
      let (missing, verified) = try Self.counters(of: key)
      for counter in [missing, verified] { dropFuture(counter, &set) }
    }
    add(1, to: try Self.counter(of: ending, for: key), in: slot, &set)
  }

  /// A verification that was never counted changes nothing.
  func withdraw(_ ending: ConversionEnding, from key: ConversionKey, in set: inout WorkingSet) throws(StoreError) {
    guard let slot = slot(of: ending, at: set.now) else { return }
    let counter = try Self.counter(of: ending, for: key)
    if count(counter, in: slot, set) > 0 { add(-1, to: counter, in: slot, &set) }
  }

  func forget(_ key: ConversionKey, in set: inout WorkingSet) throws(StoreError) {
    let (missing, verified) = try Self.counters(of: key)
    for counter in [missing, verified] { set.forget(counter: counter) }
  }

  // MARK: Askers

  func admit(_ ending: ConversionEnding, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard !ending.source.isEmpty else { return true }
    guard let slot = slot(of: ending, at: set.now) else { return false }
    let share = try Name.share.key(ending.source, in: ending.region)
    let excess = try Name.excess.key(ending.source, in: ending.region)
    for counter in [share, excess] { dropFuture(counter, &set) }
    let counts = sum(share, set) < Self.share
    add(1, to: counts ? share : excess, in: slot, &set)
    return counts
  }

  /// Removes a missing code from those of its asker: first those that do not count.
  func withdrawShare(_ ending: ConversionEnding, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard !ending.source.isEmpty else { return true }
    guard let slot = slot(of: ending, at: set.now) else { return false }
    for name in [Name.excess, .share] {
      let counter = try name.key(ending.source, in: ending.region)
      guard count(counter, in: slot, set) > 0 else { continue }
      add(-1, to: counter, in: slot, &set)
      return name == .share
    }
    return false
  }

  // MARK: Figures

  /// Of more keys than ``StoreLimits/maxListedCounters`` the last are left out.
  func worst(
    _ scope: ConversionBlock.Scope, limit: Int, from store: any Store, at now: UnixTime
  ) async throws(StoreError) -> [ConversionFigures] {
    var counts: [String: ConversionCounts] = [:]
    for (name, missing) in try await sums(.missing(scope), store, at: now) { counts[name] = .init(sent: missing) }
    for (name, back) in try await sums(.verified(scope), store, at: now) {
      counts[name, default: ConversionCounts()].sent += back
      counts[name, default: ConversionCounts()].verified += back
    }
    let figures = counts.map { name, counts in
      let key = ConversionKey(scope, named: name)
      return ConversionFigures(key: key.key, region: key.region, counts: counts)
    }
    return Array(figures.sorted(by: ConversionFigures.isWorse).prefix(limit))
  }

  private func sums(
    _ name: Name, _ store: any Store, at now: UnixTime
  ) async throws(StoreError) -> [(name: String, count: Int)] {
    let sums = try await store.counters(
      named: Array(name.rawValue.utf8), since: first(at: now), limit: StoreLimits.maxListedCounters)
    return sums.map {
      (String(decoding: $0.key.bytes.dropFirst(name.rawValue.utf8.count), as: UTF8.self), Int($0.count))
    }
  }
}

struct ConversionFigures: Sendable, Hashable {
  var key: String
  var region: String
  var counts: ConversionCounts

  static func isWorse(_ left: ConversionFigures, _ right: ConversionFigures) -> Bool {
    let (lost, other) = (left.counts.sent - left.counts.verified, right.counts.sent - right.counts.verified)
    return lost == other ? left.key < right.key : lost > other
  }
}
