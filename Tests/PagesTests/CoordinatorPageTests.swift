import CountersignTelemetry
import PhoneNumbers
import Testing

@testable import CommandEngine
@testable import Coordination

@Suite struct CoordinatorPageTests {
  private let page: Page
  private let policy = VerificationPolicy()
  private let conversion = ConversionPolicy()

  init() throws {
    page = try Page("docs/coordinator.md")
  }

  @Test func `Numbers of handles and guesses are those of the policy`() {
    page.expect(
      """
      A code has at most \(word(VerificationPolicy.maxHandles)) handles, the last \
      \(word(VerificationPolicy.handlesForProven)) for proven devices
      """)
    page.expect(
      """
      The first handle has `checksPerCode` for itself, a later one \(word(policy.checks(ofHandle: 2))); all later ones \
      share as many as the first, the last \(word(VerificationPolicy.checksForProvenHandles)) of them for proven devices.
      """)
    #expect(policy.checks(ofHandle: 1) == policy.laterChecks)
    #expect(VerificationPolicy.minimumResendLifetime == .seconds(60))
    page.expect("A code with less than a minute left is not sent again")
  }

  @Test func `Waits are those of the code`() {
    #expect(Sweeper.pause == .seconds(3600))
    page.expect("A row that cannot be processed is delayed by an hour")
    page.expect("every \(Turn.heartbeat.seconds) seconds on this connection")
    #expect(ProofPolicy().refusedTokenMemory == .seconds(3600))
    page.expect("for an hour `app.verify` for the same device token is answered with it")
    page.expect("ends as unknown \(word(RevocationPolicy.grace.hours)) hours after its deadline")
  }

  @Test func `Figures of the conversion are those of the defaults`() {
    page.expect(
      """
      If fewer than \(conversion.floorPercent) % come back within an hour (of at least \(conversion.minimumPerPrefix) \
      per prefix or \(conversion.minimumPerRegion) per region), sending there stops for \(conversion.blockLength.hours) \
      hours
      """)
    #expect(conversion.window == .seconds(3600))
    page.expect("windows of \(word(Int(ConversionCounters.slotCount))) slots")
    page.expect(
      """
      of each known requester \(word(Int(ConversionCounters.share))) verifications without a code count within the window
      """)
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
        var keys = StoreKeys()
        try conversions.addKeys(of: ending, to: &keys, at: now)
        set.load(nothingFor: keys)
        try conversions.count(ending, in: &set)
      }
      for index in 0..<verified { try count(.verified, index, []) }
      // More than count of each.
      for index in 0..<requesters * 8 { try count(.expired, verified + index, [UInt8(index % requesters), 1]) }
      return try conversions.records.block("US", in: set) != nil
    }
    let found = try #require(
      try (35...40).first { requesters in try (0..<25).contains { try closes(requesters, verified: $0) } })
    #expect(found > 35)
    page.expect("at least \(found) requesters")
  }
}

extension WorkingSet {
  /// Notes that there is nothing in the store for keys that are not known yet.
  fileprivate mutating func load(nothingFor keys: StoreKeys) {
    for id in keys.records { load(absent: id) }
    for key in keys.holders { load(absentHolderOf: key) }
    for key in keys.groups.keys { load([], of: key, isComplete: true) }
    for key in keys.counters.keys { load([], of: key) }
  }
}
