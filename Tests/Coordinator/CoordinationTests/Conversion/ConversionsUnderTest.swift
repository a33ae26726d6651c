import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

struct ConversionsUnderTest {
  let conversions: Conversions
  let flow: ConversionFlow
  let store: SQLiteStore
  private let file: StoreFile
  let registry = MetricsRegistry()
  let logs = MemorySink()

  static let begin = UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(seconds: 0)

  /// Conversions that conclude from four of a prefix and eight of a region.
  init(
    maxBlocks: Int = Conversions.maxBlocks, startedAt: UnixTime = begin,
    file: StoreFile? = nil, isShared: Bool = false, broker: BrokerPresence = BrokerPresence(),
    _ change: (inout ConversionPolicy) -> Void = { _ in }
  ) async throws {
    let rules = Bench.rules { rules in
      rules.conversion.minimumPerPrefix = 4
      rules.conversion.minimumPerRegion = 8
      rules.conversion.floorPercent = 50
      change(&rules.conversion)
    }
    self.file = try file ?? StoreFile()
    store = try await self.file.open()
    conversions = Conversions(
      rules, metrics: ConversionMetrics(registry), logger: Logger(label: "test", sink: logs), maxBlocks: maxBlocks)
    flow = ConversionFlow(
      conversions, startedAt: startedAt, isShared: isShared
    ) { broker.isThere }
  }

  static func ending(
    _ outcome: ConversionEnding.Outcome, _ prefix: String = "+1415555", _ region: String = "US", at: UnixTime = begin,
    createdAt: UnixTime? = nil, source: [UInt8] = []
  ) -> ConversionEnding {
    ConversionEnding(
      prefix: prefix, region: region, outcome: outcome, createdAt: createdAt ?? at - .seconds(60), endedAt: at,
      source: source)
  }

  /// Runs a body in a transaction, and what follows its commit.
  @discardableResult
  func change(
    _ ending: ConversionEnding, at now: UnixTime,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Void
  ) async throws -> [ConversionBlock] {
    let conversions = conversions
    let outcome = try await store.transact(at: now) {
      set throws(StoreError) -> ([ConversionBlock], [@Sendable () -> Void]) in
      func blocks() throws(StoreError) -> [ConversionBlock] {
        [try conversions.records.block(ending.prefix, in: set), try conversions.records.block(ending.region, in: set)]
          .compactMap { $0 }
      }
      let before = try blocks()
      try body(&set)
      return (try blocks().filter { !before.contains($0) }, set.effects)
    }
    guard case .stored((let new, let effects), _) = outcome else { throw UnexpectedOutcome() }
    for effect in effects { effect() }
    return new
  }

  func count(_ ending: ConversionEnding, at now: UnixTime) async throws -> [ConversionBlock] {
    let conversions = conversions
    return try await change(ending, at: now) { set throws(StoreError) in try conversions.count(ending, in: &set) }
  }

  func count(
    _ outcomes: [ConversionEnding.Outcome], _ prefix: String = "+1415555", _ region: String = "US", at: UnixTime,
    createdAt: UnixTime? = nil
  ) async throws -> [String] {
    var keys: [String] = []
    for outcome in outcomes {
      let ending = Self.ending(outcome, prefix, region, at: at, createdAt: createdAt)
      keys += try await count(ending, at: at).map(\.key)
    }
    return keys
  }

  func withdraw(_ ending: ConversionEnding, at now: UnixTime) async throws {
    let conversions = conversions
    try await change(ending, at: now) { set throws(StoreError) in try conversions.withdraw(ending, in: &set) }
  }

  func lift(_ block: ConversionBlock, at now: UnixTime) async throws {
    let conversions = conversions
    _ = try await store.transact(at: now) { set throws(StoreError) -> Void in
      _ = try conversions.lift(block, in: &set)
    }
  }

  func sweep(at now: UnixTime) async throws {
    let due = try #require(flow.dueRecords.first)
    _ = try await store.sweep(DueClaim(due.kind), at: now) { records, set throws(StoreError) in
      for record in records { try due.end(record, &set) }
    }
  }

  /// One look of the maintenance at whether codes can come back.
  func listen(at now: UnixTime) async throws {
    for task in flow.tasks { _ = try await task.run(store, now) }
  }

  func block(ofPrefix prefix: String = "+1415555", region: String = "US", at now: UnixTime) async throws
    -> ConversionBlock?
  {
    try await store.read(StoreKeys(), at: now) { [conversions] set throws(StoreError) in
      try conversions.block(ofPrefix: prefix, region: region, in: set)
    }
  }

  func isBlocked(_ prefix: String = "+1415555", at now: UnixTime) async throws -> Bool {
    try await block(ofPrefix: prefix, at: now) != nil
  }

  func worst(
    _ scope: ConversionBlock.Scope, limit: Int = 9, at now: UnixTime
  ) async throws -> [ConversionFigures] {
    try await conversions.counters.worst(scope, limit: limit, from: store, at: now)
  }

  func outages(at now: UnixTime = begin) async throws -> [ConversionOutage] {
    try await store.read(StoreKeys(), at: now) { [records = conversions.records] set throws(StoreError) in
      try records.outages(in: set)
    }
  }
}

struct UnexpectedOutcome: Error {}
