import CountersignTelemetry
import PhoneNumbers
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct CoordinatorPageTests {
  private let page: Page
  private let policy = VerificationPolicy()
  private let conversion = ConversionPolicy()

  init() throws {
    page = try Page("docs/coordinator.md")
  }

  @Test func `Numbers of handles and guesses are those of the policy`() {
    page.expect(
      "\(word(VerificationPolicy.maxHandles)) handles",
      "\(word(VerificationPolicy.handlesForProven)) for proven devices",
      "\(word(policy.checks(ofHandle: 2))).", "\(word(VerificationPolicy.checksForProvenHandles)) of them for proven")
    #expect(policy.checks(ofHandle: 1) == policy.laterChecks)
  }

  @Test func `Waits are those of the code`() {
    page.expect("every \(Turn.heartbeat.seconds) seconds", "\(word(RevocationPolicy.grace.hours)) hours")
  }

  @Test func `Figures of the conversion are those of the defaults`() {
    page.expect(
      "\(conversion.floorPercent) %", "\(conversion.minimumPerPrefix) per prefix",
      "\(conversion.minimumPerRegion) per region",
      "\(conversion.blockLength.hours) hours", "\(word(Int(ConversionCounters.slotCount))) slots",
      "\(word(Int(ConversionCounters.share))) verifications")
    #expect(conversion.window == .seconds(3600))
  }

  @Test func `So many requesters are the least that closes a region`() throws {
    let conversions = Conversions(
      CoordinatorRules(regions: RegionRules(allowed: ["US"]), apps: [:]), metrics: ConversionMetrics(MetricsRegistry()),
      logger: Logger(label: "test", sink: MemorySink()))
    func closes(_ requesters: Int, verified: Int) throws -> Bool {
      let now = UnixTime(seconds: 1_800_000_000)
      var set = WorkingSet(at: now)
      func count(_ outcome: ConversionEnding.Outcome, _ index: Int, _ source: [UInt8]) throws {
        // Each of a prefix of its own, so that none is closed for its prefix.
        let ending = ConversionEnding(
          prefix: "+1\(10_000 + index)", region: "US", outcome: outcome, createdAt: now - .seconds(60), endedAt: now,
          source: source)
        try set.run { set throws(StoreError) in
          _ = try conversions.counters.counts(of: ConversionKey(.region, of: ending), in: set)
          try conversions.count(ending, in: &set)
        }
      }
      for index in 0..<verified { try count(.verified, index, []) }
      // More than count of each.
      for index in 0..<requesters * 8 { try count(.expired, verified + index, [UInt8(index % requesters), 1]) }
      return try conversions.records.block("US", in: set) != nil
    }
    let found = try #require(
      try (35...40).first { requesters in try (0..<25).contains { try closes(requesters, verified: $0) } })
    #expect(found > 35)
    page.expect("\(found) requesters")
  }
}

extension WorkingSet {
  /// Runs a body on a store in which there is nothing.
  fileprivate mutating func run(_ body: (inout WorkingSet) throws(StoreError) -> Void) throws(StoreError) {
    try run(
      load: { (keys, set) throws(StoreError) in set.load(nothingFor: keys) }, body)
  }

  /// Notes that there is nothing in the store for keys that are not known yet.
  fileprivate mutating func load(nothingFor keys: StoreKeys) {
    for id in keys.records { load(absent: id) }
    for key in keys.holders { load(absentHolderOf: key) }
    for key in keys.groups.keys { load([], of: key, isComplete: true) }
    for key in keys.counters.keys { load([], of: key) }
  }
}
