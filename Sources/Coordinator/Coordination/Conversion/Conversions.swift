import CommandEngine
import CountersignMessages
import CountersignTelemetry
import NumberRules
import ServiceRuntime
import Synchronization

/// Watches the share of codes that come back, for each prefix and each region, and blocks those with too few.
///
/// A verification is counted in the transaction that ends it. A blocked key starts from zero when its block begins and
/// when it is lifted. A missing code says nothing if it could not come back: see ``ConversionOutages``.
struct Conversions: Sendable {
  /// Blocks that are kept. No further prefix is blocked then; regions, which are few, still are. The maintenance counts
  /// them, so a batch may exceed it.
  static let maxBlocks = 8_192

  let policy: ConversionPolicy
  let records: ConversionRecords
  let counters: ConversionCounters
  let metrics: ConversionMetrics
  private let maxBlocks: Int
  private let logger: Logger
  private let shared = Shared()

  private final class Shared: Sendable {
    struct State {
      var series: [String: ConversionMetrics.Region] = [:]
      /// Blocks that are kept, as far as this process knows.
      var blockCount = 0
      var unsaved: [ConversionOutage] = []
    }

    let state = Mutex(State())
  }

  init(
    _ rules: CoordinatorRules, metrics: ConversionMetrics, logger: Logger, maxBlocks: Int = Self.maxBlocks
  ) {
    policy = rules.conversion
    records = ConversionRecords(memory: rules.conversion.window + rules.policy.maximumLifetime)
    counters = ConversionCounters(rules.conversion)
    self.metrics = metrics
    self.maxBlocks = maxBlocks
    self.logger = logger
  }

  // MARK: Sending

  func addKeys(ofPrefix prefix: String, region: String, to keys: inout StoreKeys) {
    guard policy.isEnabled else { return }
    for key in [prefix, region] { records.addKeys(ofBlock: key, to: &keys) }
  }

  func refusal(of send: LimitedSend, in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    guard let block = try block(ofPrefix: send.prefix, region: send.region, in: set) else { return nil }
    return LimitRefusal(
      limit: block.scope == .prefix ? .conversionPrefix : .conversionRegion, figure: policy.floor(of: block.region),
      wait: block.until - set.now)
  }

  /// Of two blocks, the one that lasts longer.
  func block(ofPrefix prefix: String, region: String, in set: WorkingSet) throws(StoreError) -> ConversionBlock? {
    guard policy.isEnabled else { return nil }
    let blocks = try set.each([prefix, region]) { key throws(StoreError) in try records.block(key, in: set) }
    return blocks.compactMap { $0 }.filter { $0.isInForce(at: set.now) }.max { $0.until < $1.until }
  }

  // MARK: Verifications

  func note(
    _ verification: PhoneVerification, before: PhoneVerification?, in set: inout WorkingSet
  ) throws(StoreError) {
    switch (before.flatMap(ConversionEnding.init), ConversionEnding(verification)) {
    case (nil, let ending?):
      set.afterCommit { [metrics, shared] in shared.state.withLock { metrics.count(ending, &$0.series) } }
      try count(ending, in: &set)
    case (let ending?, nil): try withdraw(ending, in: &set)
    case (nil, nil), (.some, .some): break
    }
  }

  // MARK: Counting

  func count(_ ending: ConversionEnding, in set: inout WorkingSet) throws(StoreError) {
    guard policy.isEnabled else { return }
    for key in try counted(ending, in: set) {
      try count(ending, for: key, in: &set)
      guard ending.outcome != .verified else { continue }
      let counts = try counters.counts(of: key, in: set)
      if policy.isTooLow(counts, of: key.scope, in: key.region) { try block(key, counts, in: &set) }
    }
  }

  /// A block derived from it stays: others were counted as well, and an operator can lift it.
  func withdraw(_ ending: ConversionEnding, in set: inout WorkingSet) throws(StoreError) {
    guard policy.isEnabled else { return }
    for key in try counted(ending, in: set) {
      if key.scope == .region, ending.outcome != .verified {
        guard try counters.withdrawShare(ending, in: &set) else { continue }
      }
      try counters.withdraw(ending, from: key, in: &set)
    }
  }

  /// Keys that an ending counts for.
  private func counted(_ ending: ConversionEnding, in set: WorkingSet) throws(StoreError) -> [ConversionKey] {
    let keys = ConversionBlock.Scope.allCases.map { ConversionKey($0, of: ending) }
    if ending.outcome != .verified { try require(ending, keys, in: set) }
    guard try !isExcused(ending, in: set) else { return [] }
    let settled = try set.each(keys) { key throws(StoreError) in try isSettled(ending, key, in: set) }
    return zip(keys, settled).filter { !$0.1 }.map(\.0)
  }

  /// Has all that counting or uncounting a missing code looks up loaded at once.
  private func require(
    _ ending: ConversionEnding, _ counted: [ConversionKey], in set: WorkingSet
  ) throws(StoreError) {
    var keys = StoreKeys()
    for key in counted {
      records.addKeys(ofBlock: key.key, to: &keys)
      try counters.addKeys(of: key, to: &keys, at: set.now)
    }
    try counters.addKeys(ofSource: ending.source, in: ending.region, to: &keys, at: set.now)
    if ending.outcome == .expired { try records.addOutages(to: &keys) }
    try set.require(keys)
  }

  private func count(
    _ ending: ConversionEnding, for key: ConversionKey, in set: inout WorkingSet
  ) throws(StoreError) {
    if key.scope == .region, ending.outcome != .verified {
      guard try counters.admit(ending, in: &set) else { return }
    }
    try counters.count(ending, for: key, in: &set)
  }

  private func isSettled(
    _ ending: ConversionEnding, _ key: ConversionKey, in set: WorkingSet
  ) throws(StoreError) -> Bool {
    guard let block = try records.block(key.key, in: set) else { return false }
    return ending.createdAt < block.end
  }

  private func isExcused(_ ending: ConversionEnding, in set: WorkingSet) throws(StoreError) -> Bool {
    guard ending.outcome == .expired else { return false }
    if shared.state.withLock({ $0.unsaved.contains { $0.covers(ending) } }) { return true }
    return try records.outages(in: set).contains { $0.covers(ending) }
  }

  // MARK: Blocks

  private func block(
    _ key: ConversionKey, _ counts: ConversionCounts, in set: inout WorkingSet
  ) throws(StoreError) {
    guard key.scope == .region || shared.state.withLock({ $0.blockCount < maxBlocks }) else { return }
    let now = set.now
    let block = ConversionBlock(
      scope: key.scope, key: key.key, region: key.region, blockedAt: now, until: now + policy.blockLength,
      liftedAt: nil, counts: counts)
    try records.put(block, in: &set)
    try counters.forget(key, in: &set)
    try set.send(
      .event(
        ConversionBlocked(block, policy), id: block.eventID("blocked"), correlationID: block.key, cause: nil, at: now))
    set.afterCommit { [self] in
      shared.state.withLock { $0.blockCount += 1 }
      metrics.blocked.with(block.scope.rawValue).increment()
      note(block)
    }
  }

  /// The key of a prefix may be logged: it stands for ten thousand numbers, of which at least the minimum asked for
  /// codes, and no log has the missing digits.
  private func note(_ block: ConversionBlock) {
    logger.warning(
      "nothing is sent to these numbers for now, because too few of their codes come back",
      [
        "scope": block.scope.rawValue, "key": block.key, "region": block.region, "sent": block.counts.sent,
        "verified": block.counts.verified, "until": block.until.rfc3339,
        .hint: "look at the figures: countersign conversion list; if all is well: countersign conversion lift KEY",
      ])
  }

  func lift(_ block: ConversionBlock, in set: inout WorkingSet) throws(StoreError) -> ConversionBlock {
    var lifted = block
    lifted.liftedAt = set.now
    try records.put(lifted, in: &set)
    try counters.forget(ConversionKey(block), in: &set)
    return lifted
  }

  func setBlockCount(_ count: Int) {
    shared.state.withLock { $0.blockCount = count }
  }

  // MARK: Outages

  /// Takes note of outages that are not stored yet, and that excuse all the same.
  func setUnsaved(_ outages: [ConversionOutage]) {
    shared.state.withLock { $0.unsaved = outages }
  }
}

/// Thresholds below which a prefix or a region is blocked because too few codes come back.
///
/// SMS pumping is paid for messages and types in no codes. The field's defaults: below one in ten of at least 50 within
/// an hour, blocked for 12 hours, for a number without its last four digits (Twilio Verify, "Fraud Guard", error
/// 60410).
public struct ConversionPolicy: Sendable, Hashable {
  /// The conversion is measured in any case.
  var isEnabled = true
  /// Percentage of sent codes that have to come back.
  var floorPercent = 10
  /// Floors of the regions, and the prefixes in them, that differ. 0 never blocks.
  var regionFloors: [String: Int] = [:]
  var minimumPerPrefix = 50
  /// Larger than for a prefix: traffic through a single prefix, which is blocked by itself, must not close a small
  /// country to everyone.
  var minimumPerRegion = 200
  var window = Duration.seconds(3600)
  var blockLength = Duration.seconds(12 * 3600)

  func floor(of region: String) -> Int {
    regionFloors[region] ?? floorPercent
  }

  func isTooLow(_ counts: ConversionCounts, of scope: ConversionBlock.Scope, in region: String) -> Bool {
    let minimum =
      switch scope {
      case .prefix: minimumPerPrefix
      case .region: minimumPerRegion
      }
    return counts.sent >= minimum && counts.verified * 100 < floor(of: region) * counts.sent
  }
}

extension ConversionPolicy {
  init(_ section: ConfigurationSection) {
    self.init()
    isEnabled = section.bool(
      "enabled", default: isEnabled, "Whether a prefix or a region is blocked when too few of its codes come back.")
    floorPercent = section.integer(
      "floorPercent", default: floorPercent, in: 0...100, "Of a hundred codes that were sent so many have to come back."
    )
    regionFloors = section.integerMap(
      "regionFloors", in: 0...100, "The floor by region code, where it differs; 0 for regions that are never blocked.")
    section.checkRegions("regionFloors", regionFloors.keys.sorted())
    minimumPerPrefix = section.integer(
      "minimumPerPrefix", default: minimumPerPrefix, in: Self.minimums,
      "Of fewer verifications of a prefix nothing is concluded.")
    minimumPerRegion = section.integer(
      "minimumPerRegion", default: minimumPerRegion, in: Self.minimums,
      "Of fewer verifications of a region nothing is concluded.")
    window = section.seconds(
      "windowSeconds", default: window, in: .seconds(12)...(.seconds(86_400)),
      "How long a verification counts that has ended.")
    blockLength = section.seconds(
      "blockSeconds", default: blockLength, in: .seconds(1)...(.seconds(30 * 86_400)), "How long a block lasts.")
  }

  private static let minimums = 1...1_000_000_000
}
