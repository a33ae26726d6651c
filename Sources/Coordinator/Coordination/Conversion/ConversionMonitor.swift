import CountersignMessages
import CountersignTelemetry
import SQLite
import Synchronization

/// The conversion guard of the process, shared by the pipelines and the maintenance.
///
/// It lives in memory, because a write for every verification would cost more than it is worth: a start counts again
/// from the stored verifications (``ConversionLoader``). Outages are stored while they last. The maintenance stores
/// blocks within a second (``ConversionSweeper``); a block lost in a crash before that is found again at the start,
/// from the same verifications.
///
/// Counting follows the commit: endings of an undone transaction must not count.
final class ConversionMonitor: Sendable {
  private struct State {
    var guarding: ConversionGuard
    /// Blocks that are not in the database yet.
    var unsaved: [ConversionBlock] = []
    var series: [String: ConversionMetrics.Region] = [:]
    var outages: ConversionOutages
    /// An outage that is not in the database yet, or with an earlier end.
    var unsavedOutage: ConversionOutage?
  }

  private let state: Mutex<State>
  private let metrics: ConversionMetrics

  /// - Parameters:
  ///   - rules: the rules in force.
  ///   - startedAt: start of the process.
  init(_ rules: CoordinatorRules, metrics: ConversionMetrics, startedAt: UnixTime) {
    self.metrics = metrics
    state = Mutex(
      State(
        guarding: ConversionGuard(rules.conversion, maximumLifetime: rules.policy.maximumLifetime),
        outages: ConversionOutages(startedAt: startedAt)))
  }

  // MARK: Counting

  /// Applies the changes of a committed transaction.
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

  /// Counts endings before the start. No metric includes them; metrics begin at zero.
  func recount(_ endings: [ConversionEnding], at now: UnixTime) {
    state.withLock { state in
      state.guarding.recount(endings.filter { !state.outages.cover($0) }, at: now)
    }
  }

  /// Judges the recounted endings.
  func judge(at now: UnixTime) {
    state.withLock { $0.unsaved += $0.guarding.judge(at: now) }
  }

  // MARK: Outages

  /// Records that codes can come back now.
  /// - Parameter longestSilence: see ``ConversionOutages/longestSilence``.
  /// - Returns: the outage to store: one that has just ended, or could not be stored while it lasted.
  func hear(at now: UnixTime, longestSilence: Duration) -> ConversionOutage? {
    state.withLock { state in
      if let outage = state.outages.hear(at: now, longestSilence: longestSilence) { state.unsavedOutage = outage }
      return state.unsavedOutage
    }
  }

  /// Records that codes cannot come back now, or could not until now.
  /// - Returns: the outage to store.
  func noteOutage(at now: UnixTime) -> ConversionOutage {
    state.withLock { state in
      state.outages.forget(before: now - state.guarding.memory)
      let outage = state.outages.note(at: now)
      state.unsavedOutage = outage
      return outage
    }
  }

  /// Stores an outage, and deletes those that no longer matter.
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

  /// The block that an SMS would fall under.
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

  /// Adds stored blocks and outages.
  /// - Parameter outages: oldest first.
  func restore(_ blocks: [ConversionBlock], _ outages: [ConversionOutage]) {
    state.withLock { state in
      for block in blocks { state.guarding.restore(block) }
      state.outages.restore(outages)
    }
  }

  /// Takes the blocks to store, and the keys of stored ones that are no longer needed.
  func takeWork(at now: UnixTime) -> (unsaved: [ConversionBlock], obsolete: [String]) {
    state.withLock { state in
      defer { state.unsaved = [] }
      for scope in ConversionBlock.Scope.allCases {
        metrics.blocks.with(scope.rawValue).set(Double(state.guarding.blockCount(scope, at: now)))
      }
      return (state.unsaved, state.guarding.obsolete(at: now))
    }
  }

  /// Puts back the work of ``takeWork(at:)`` after a failed write.
  func restoreWork(_ unsaved: [ConversionBlock]) {
    state.withLock { $0.unsaved = unsaved + $0.unsaved }
  }

  /// Completes the work of ``takeWork(at:)``.
  func finish(_ unsaved: [ConversionBlock], removing keys: [String], at now: UnixTime) {
    for block in unsaved { metrics.blocked.with(block.scope.rawValue).increment() }
    state.withLock { $0.guarding.remove(keys, at: now) }
  }

  // MARK: Figures

  /// The keys with the most codes that did not come back.
  ///
  /// The pipelines count under the same lock, so sorting happens outside it; and never inside a transaction, which
  /// would delay all others.
  func worst(limit: Int, at now: UnixTime) -> ConversionFigures {
    func worst(_ scope: ConversionBlock.Scope) -> [ConversionTable.Figures] {
      ConversionTable.worst(of: state.withLock { $0.guarding.figures(scope, at: now) }, limit: limit)
    }
    return ConversionFigures(limit: limit, regions: worst(.region), prefixes: worst(.prefix))
  }
}

/// Counts of the keys with the most codes that did not come back, the worst first.
struct ConversionFigures: Sendable {
  /// Maximum number of keys of each scope.
  var limit: Int
  var regions: [ConversionTable.Figures]
  var prefixes: [ConversionTable.Figures]
}

/// Changes of a transaction to the conversion.
struct ConversionChanges: Sendable {
  /// Verifications that count from now on: as a rule those that ended in it.
  var endings: [ConversionEnding] = []
  /// Verifications that had ended before and no longer count.
  var withdrawn: [ConversionEnding] = []
  /// Blocks that were lifted in it.
  var lifted: [ConversionBlock] = []

  var isEmpty: Bool { endings.isEmpty && withdrawn.isEmpty && lifted.isEmpty }

  /// Derives the changes from a changed verification.
  /// - Parameter before: its counted ending until then.
  mutating func note(_ verification: PhoneVerification, before: ConversionEnding?) {
    switch (before, ConversionEnding(verification)) {
    case (nil, let ending?): endings.append(ending)
    case (let ending?, nil): withdrawn.append(ending)
    case (nil, nil), (.some, .some): break
    }
  }
}
