import CountersignMessages
import CountersignTelemetry
import SQLite
import Synchronization

/// The guard of the process, shared by the pipelines and the maintenance.
///
/// It is in memory, because a write for every verification would cost more than it is worth: what was counted is read again from the
/// verifications at a start (``ConversionLoader``). Outages are stored while they last. Blocks are stored, by the maintenance, within a second (``ConversionSweeper``);
/// a block that a crash loses before that is found again at the start, from the same verifications.
///
/// Counting follows the commit: what a transaction that was undone has ended must not count.
final class ConversionKeeper: Sendable {
  private struct State {
    var guarding: ConversionGuard
    /// Blocks that are not in the database yet.
    var unsaved: [ConversionBlock] = []
    var series: [String: ConversionMetrics.Region] = [:]
    var outages: ConversionOutages
    /// An outage that is not in the database yet, or not as long as it is.
    var unsavedOutage: ConversionOutage?
  }

  private let state: Mutex<State>
  private let metrics: ConversionMetrics

  /// - Parameters:
  ///   - rules: the rules in force.
  ///   - startedAt: when the process began to listen.
  init(_ rules: CoordinatorRules, metrics: ConversionMetrics, startedAt: UnixTime) {
    self.metrics = metrics
    state = Mutex(
      State(
        guarding: ConversionGuard(rules.conversion, maximumLifetime: rules.policy.maximumLifetime),
        outages: ConversionOutages(startedAt: startedAt)))
  }

  // MARK: Counting

  /// Takes what a transaction has done, once it is committed.
  func take(_ changes: ConversionChanges, at now: UnixTime) {
    guard !changes.isEmpty else { return }
    state.withLock { state in
      for block in changes.lifted { state.guarding.lift(block) }
      for ending in changes.withdrawn where !state.outages.cover(ending) { state.guarding.withdraw(ending) }
      for ending in changes.endings {
        metrics.count(ending, &state.series)
        guard !state.outages.cover(ending) else { continue }
        state.unsaved += state.guarding.count(ending, at: now)
      }
    }
  }

  /// Counts again what ended before the start. It is in no metric, which begin at zero.
  func recount(_ endings: [ConversionEnding], at now: UnixTime) {
    state.withLock { state in
      state.guarding.recount(endings.filter { !state.outages.cover($0) }, at: now)
    }
  }

  /// Concludes from what was counted again.
  func judge(at now: UnixTime) {
    state.withLock { $0.unsaved += $0.guarding.judge(at: now) }
  }

  // MARK: Outages

  /// Codes can come back now.
  /// - Parameter longestSilence: see ``ConversionOutages/longestSilence``.
  /// - Returns: the outage that has to be stored: one that has just ended, or could not be stored while it lasted.
  func hear(at now: UnixTime, longestSilence: Duration) -> ConversionOutage? {
    state.withLock { state in
      if let outage = state.outages.hear(at: now, longestSilence: longestSilence) { state.unsavedOutage = outage }
      return state.unsavedOutage
    }
  }

  /// Nobody can give a code back now, or could until now.
  /// - Returns: the outage, which has to be stored.
  func noteOutage(at now: UnixTime) -> ConversionOutage {
    state.withLock { state in
      state.outages.forget(before: now - state.guarding.memory)
      let outage = state.outages.note(at: now)
      state.unsavedOutage = outage
      return outage
    }
  }

  /// Stores an outage, and deletes those that make no difference any more.
  func save(_ outage: ConversionOutage, in database: Database, at now: UnixTime) async throws(DatabaseError) {
    let horizon = now - state.withLock { $0.guarding.memory }
    try await database.write { session throws(DatabaseError) in
      try CoordinatorTransaction.store(outage, deletingBefore: horizon, in: session)
    }
    state.withLock { state in
      if state.unsavedOutage == outage { state.unsavedOutage = nil }
    }
  }

  // MARK: Blocks

  /// The block that a message would fall under.
  func refusal(of send: LimitedSend, at now: UnixTime) -> LimitRefusal? {
    let found = state.withLock { state in
      state.guarding.block(ofPrefix: send.prefix, region: send.region, at: now).map {
        (block: $0, floor: state.guarding.policy.floor(of: $0.region))
      }
    }
    return found.map {
      LimitRefusal(
        scope: $0.block.scope == .prefix ? .conversionPrefix : .conversionRegion, limit: $0.floor,
        wait: $0.block.until - now)
    }
  }

  /// Takes over what is stored.
  /// - Parameter outages: oldest first.
  func restore(_ blocks: [ConversionBlock], _ outages: [ConversionOutage]) {
    state.withLock { state in
      for block in blocks { state.guarding.restore(block) }
      state.outages.restore(outages)
    }
  }

  /// Blocks that have to be stored, and keys of stored ones that are not needed any more.
  func takeWork(at now: UnixTime) -> (unsaved: [ConversionBlock], obsolete: [String]) {
    state.withLock { state in
      defer { state.unsaved = [] }
      for scope in ConversionBlock.Scope.allCases {
        metrics.blocks.with(scope.rawValue).set(Double(state.guarding.blockCount(scope, at: now)))
      }
      return (state.unsaved, state.guarding.obsolete(at: now))
    }
  }

  /// Takes back what ``takeWork(at:)`` gave, because it could not be stored.
  func restoreWork(_ unsaved: [ConversionBlock]) {
    state.withLock { $0.unsaved = unsaved + $0.unsaved }
  }

  /// What ``takeWork(at:)`` gave is done.
  func finish(_ unsaved: [ConversionBlock], removing keys: [String], at now: UnixTime) {
    for block in unsaved { metrics.blocked.with(block.scope.rawValue).increment() }
    state.withLock { $0.guarding.remove(keys, at: now) }
  }

  // MARK: Figures

  /// The keys with the most codes that did not come back.
  ///
  /// The pipelines count under the same lock, so nothing is sorted under it; nor may this be called in a transaction, which all others
  /// wait for.
  func worst(limit: Int, at now: UnixTime) -> ConversionFigures {
    func worst(_ scope: ConversionBlock.Scope) -> [ConversionTable.Figures] {
      ConversionTable.worst(of: state.withLock { $0.guarding.figures(scope, at: now) }, limit: limit)
    }
    return ConversionFigures(limit: limit, regions: worst(.region), prefixes: worst(.prefix))
  }
}

/// Counts of the keys with the most codes that did not come back, the worst first.
struct ConversionFigures: Sendable {
  /// The most of each that were asked for.
  var limit: Int
  var regions: [ConversionTable.Figures]
  var prefixes: [ConversionTable.Figures]
}

/// What a transaction has changed of the conversion.
struct ConversionChanges: Sendable {
  /// Verifications that count since: those that have ended in it, as a rule.
  var endings: [ConversionEnding] = []
  /// Verifications that had ended before and do not count any more.
  var withdrawn: [ConversionEnding] = []
  /// Blocks that were lifted in it.
  var lifted: [ConversionBlock] = []

  var isEmpty: Bool { endings.isEmpty && withdrawn.isEmpty && lifted.isEmpty }

  /// Notes what a change of a verification means.
  /// - Parameter before: as what it counted until then.
  mutating func note(_ verification: PhoneVerification, before: ConversionEnding?) {
    switch (before, ConversionEnding(verification)) {
    case (nil, let ending?): endings.append(ending)
    case (let ending?, nil): withdrawn.append(ending)
    case (nil, nil), (.some, .some): break
    }
  }
}
