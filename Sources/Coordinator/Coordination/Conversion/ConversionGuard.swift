import CountersignTelemetry

/// Watches the share of codes that come back, for each prefix and each region, and reports when it is too low. A plain
/// value without I/O.
///
/// - A verification is counted for its prefix and its region at the time at which it ends. Later reports about its SMS
///   may change whether it counts.
/// - The share is judged at each verification whose code did not come back. A blocked key starts from zero when its
///   block ends, by itself or by an operator: only verifications that began after that count.
/// - Full tables let everything through: see ``ConversionTable`` and ``maxBlocks``.
struct ConversionGuard: Sendable {
  /// Counted prefixes; with their windows about 20 MB.
  static let maxPrefixes = 65_536
  /// Counted regions. libphonenumber knows about 250, and nine calling codes without a country.
  static let maxRegions = 512
  /// Blocks that are kept. No further prefix is blocked then; regions, which are few, still are.
  static let maxBlocks = 8_192

  let policy: ConversionPolicy
  private let slotMilliseconds: Int64
  /// Time after its end for which a block or an outage is still needed: verifications that began before it may count
  /// until then.
  let memory: Duration
  private let maxBlocks: Int
  private var prefixes: ConversionTable
  private var regions: ConversionTable
  private var blocks: [String: ConversionBlock] = [:]

  /// - Parameter maximumLifetime: the maximum lifetime of a verification.
  init(
    _ policy: ConversionPolicy, maximumLifetime: Duration, maxPrefixes: Int = maxPrefixes,
    maxRegions: Int = maxRegions, maxBlocks: Int = maxBlocks
  ) {
    self.policy = policy
    slotMilliseconds = max(1, policy.window.wholeMilliseconds / ConversionWindow.slotCount)
    memory = policy.window + maximumLifetime
    prefixes = ConversionTable(capacity: maxPrefixes)
    regions = ConversionTable(capacity: maxRegions)
    self.maxBlocks = maxBlocks
  }

  // MARK: Counting

  /// Counts a verification that has ended.
  /// - Returns: the blocks that begin with it.
  mutating func count(_ ending: ConversionEnding, at now: UnixTime) -> [ConversionBlock] {
    guard policy.isEnabled else { return [] }
    var new: [ConversionBlock] = []
    for scope in ConversionBlock.Scope.allCases {
      let key = Self.key(ending, scope)
      guard !isSettled(ending, key) else { continue }
      let counts = count(ending, scope, key, at: now)
      guard ending.outcome != .verified, policy.isTooLow(counts, of: scope, in: ending.region) else { continue }
      if let block = block(scope, key, ending.region, counts, at: now) { new.append(block) }
    }
    return new
  }

  /// Uncounts a verification because of a later report. A block derived from it stays: others were counted as well, and
  /// an operator can lift it.
  mutating func withdraw(_ ending: ConversionEnding) {
    for scope in ConversionBlock.Scope.allCases {
      let key = Self.key(ending, scope)
      guard !isSettled(ending, key) else { continue }
      let (slot, isVerified) = (slot(ending.endedAt), ending.outcome == .verified)
      switch scope {
      case .prefix: prefixes.withdraw(key, isVerified: isVerified, slot: slot)
      case .region:
        guard isVerified || regions.withdraw(ending.source, of: key) else { continue }
        regions.withdraw(key, isVerified: isVerified, slot: slot)
      }
    }
  }

  /// Counts verifications that ended before the start, in any order. Nothing is judged before ``judge(at:)``: the first
  /// rows are not representative, and codes come back sooner than others expire.
  mutating func recount(_ endings: [ConversionEnding], at now: UnixTime) {
    guard policy.isEnabled else { return }
    for ending in endings {
      for scope in ConversionBlock.Scope.allCases {
        let key = Self.key(ending, scope)
        if !isSettled(ending, key) { _ = count(ending, scope, key, at: now) }
      }
    }
  }

  /// Judges the recounted verifications.
  /// - Returns: the blocks that begin with it, the worst first.
  mutating func judge(at now: UnixTime) -> [ConversionBlock] {
    guard policy.isEnabled else { return [] }
    return ConversionBlock.Scope.allCases.flatMap { scope in
      let tooLow = figures(scope, at: now).filter { policy.isTooLow($0.counts, of: scope, in: $0.region) }
      return ConversionTable.worst(of: tooLow, limit: .max).compactMap {
        block(scope, $0.key, $0.region, $0.counts, at: now)
      }
    }
  }

  private static func key(_ ending: ConversionEnding, _ scope: ConversionBlock.Scope) -> String {
    switch scope {
    case .prefix: ending.prefix
    case .region: ending.region
    }
  }

  /// Whether the verification began before the last block of its key ended.
  private func isSettled(_ ending: ConversionEnding, _ key: String) -> Bool {
    guard !blocks.isEmpty, let block = blocks[key] else { return false }
    return ending.createdAt < block.end
  }

  private mutating func count(
    _ ending: ConversionEnding, _ scope: ConversionBlock.Scope, _ key: String, at now: UnixTime
  ) -> ConversionCounts {
    let isVerified = ending.outcome == .verified
    let (slot, present) = (slot(ending.endedAt), slot(now))
    switch scope {
    case .prefix:
      return prefixes.count(key, in: ending.region, isVerified: isVerified, slot: slot, now: present)
    case .region:
      guard isVerified || regions.admit(ending.source, of: key, in: ending.region, now: present) else {
        return regions.counts(key, now: present)
      }
      return regions.count(key, in: ending.region, isVerified: isVerified, slot: slot, now: present)
    }
  }

  private func slot(_ time: UnixTime) -> Int64 { time.milliseconds / slotMilliseconds }

  private mutating func block(
    _ scope: ConversionBlock.Scope, _ key: String, _ region: String, _ counts: ConversionCounts, at now: UnixTime
  ) -> ConversionBlock? {
    guard scope == .region || blocks.count < maxBlocks else { return nil }
    let block = ConversionBlock(
      scope: scope, key: key, region: region, blockedAt: now, until: now + policy.blockLength, liftedAt: nil,
      counts: counts)
    blocks[key] = block
    forget(key)
    return block
  }

  private mutating func forget(_ key: String) {
    prefixes.forget(key)
    regions.forget(key)
  }

  // MARK: Blocks

  /// The block that a number falls under; of two, the one that lasts longer.
  func block(ofPrefix prefix: String, region: String, at now: UnixTime) -> ConversionBlock? {
    guard policy.isEnabled, !blocks.isEmpty else { return nil }
    return [blocks[prefix], blocks[region]].compactMap { $0 }.filter { $0.isInForce(at: now) }
      .max { $0.until < $1.until }
  }

  /// Adds a stored block.
  mutating func restore(_ block: ConversionBlock) {
    blocks[block.key] = block
  }

  /// Ends a block, and starts its key from zero.
  mutating func lift(_ lifted: ConversionBlock) {
    guard blocks[lifted.key]?.blockedAt == lifted.blockedAt else { return }
    blocks[lifted.key] = lifted
    forget(lifted.key)
  }

  /// The keys of blocks that ended so long ago that they no longer matter.
  func obsolete(at now: UnixTime) -> [String] {
    guard !blocks.isEmpty else { return [] }
    return blocks.values.filter { isObsolete($0, at: now) }.map(\.key)
  }

  /// Forgets blocks that were just ``obsolete(at:)``, except keys under which a new block has begun since.
  mutating func remove(_ keys: [String], at now: UnixTime) {
    for key in keys where blocks[key].map({ isObsolete($0, at: now) }) == true { blocks[key] = nil }
  }

  private func isObsolete(_ block: ConversionBlock, at now: UnixTime) -> Bool { block.end + memory <= now }

  // MARK: Figures

  /// Number of blocks of a scope in force.
  func blockCount(_ scope: ConversionBlock.Scope, at now: UnixTime) -> Int {
    blocks.values.count { $0.scope == scope && $0.isInForce(at: now) }
  }

  /// The counts, in no order.
  func figures(_ scope: ConversionBlock.Scope, at now: UnixTime) -> [ConversionTable.Figures] {
    switch scope {
    case .prefix: prefixes.figures(at: slot(now))
    case .region: regions.figures(at: slot(now))
    }
  }
}

/// A temporary block on sending to a prefix or a region.
struct ConversionBlock: Sendable, Hashable {
  /// Kind of the blocked key. Stored, so it never changes its meaning.
  enum Scope: String, Sendable, CaseIterable {
    case prefix, region
  }

  var scope: Scope
  /// The prefix or the region. A region's code has no `+`, and the calling code of numbers without a country (`+883`)
  /// is not the prefix of any number, because all of those have more than four digits after it; so a key is unique
  /// without its scope.
  var key: String
  var region: String
  var blockedAt: UnixTime
  var until: UnixTime
  var liftedAt: UnixTime?
  /// Counts at the time of the block.
  var counts: ConversionCounts

  /// End of the block, past or future. Verifications that began before it no longer count against the key: they were
  /// judged already, or began while judged traffic continued.
  var end: UnixTime { liftedAt ?? until }

  func isInForce(at now: UnixTime) -> Bool {
    now < end
  }
}
