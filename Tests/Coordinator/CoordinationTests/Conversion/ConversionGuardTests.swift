import CountersignTelemetry
import Testing

@testable import Coordination

@Suite("The guard of the conversion")
struct ConversionGuardTests {
  let begin = UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(seconds: 0)

  /// A guard that concludes from four of a prefix and eight of a region.
  private func makeGuard(_ change: (inout ConversionPolicy) -> Void = { _ in }) -> ConversionGuard {
    var policy = ConversionPolicy()
    policy.minimumPerPrefix = 4
    policy.minimumPerRegion = 8
    policy.floorPercent = 50
    change(&policy)
    return ConversionGuard(policy, maximumLifetime: .seconds(600))
  }

  private func ending(
    _ outcome: ConversionEnding.Outcome, _ prefix: String = "+1415555", _ region: String = "US", at: UnixTime,
    createdAt: UnixTime? = nil, source: [UInt8] = []
  ) -> ConversionEnding {
    ConversionEnding(
      prefix: prefix, region: region, outcome: outcome, createdAt: createdAt ?? at - .seconds(60), endedAt: at,
      source: source)
  }

  @Test("One asker closes no region, two do, and those of nobody in particular all count")
  func oneAskerClosesNoRegionTwoDoAndThoseOfNobodyInParticularAll() {
    func blocked(_ sources: [[UInt8]]) -> [String] {
      var guarding = makeGuard { $0.minimumPerPrefix = 1_000 }
      return sources.enumerated().flatMap { index, source in
        guarding.count(ending(.expired, "+1415\(index)", at: begin, source: source), at: begin).map(\.key)
      }
    }
    #expect(blocked(Array(repeating: [1], count: 100)).isEmpty)
    #expect(blocked(Array(repeating: [1], count: 100) + Array(repeating: [2], count: 3)) == ["US"])
    #expect(blocked(Array(repeating: [], count: 8)) == ["US"])
  }

  @Test("A verification that did not count for its requester takes nothing back when withdrawn")
  func withdrawnSource() {
    var guarding = makeGuard { $0.minimumPerPrefix = 1_000 }
    let one = ending(.expired, at: begin, source: [1])
    for _ in 0..<20 { #expect(guarding.count(one, at: begin).isEmpty) }
    for _ in 0..<15 { guarding.withdraw(one) }
    #expect(guarding.figures(.region, at: begin).map(\.counts.sent) == [5])
    guarding.withdraw(one)
    #expect(guarding.figures(.region, at: begin).map(\.counts.sent) == [4])
    // Its count begins anew with the window.
    let later = begin + .seconds(7200)
    #expect(guarding.count(ending(.expired, at: later, source: [1]), at: later).isEmpty)
    #expect(guarding.figures(.region, at: later).map(\.counts.sent) == [1])
  }

  /// Counts several at one time.
  /// - Returns: the keys that were blocked for them.
  private func count(
    _ guarding: inout ConversionGuard, _ outcomes: [ConversionEnding.Outcome], _ prefix: String = "+1415555",
    _ region: String = "US", at: UnixTime, createdAt: UnixTime? = nil
  ) -> [String] {
    outcomes.flatMap {
      guarding.count(ending($0, prefix, region, at: at, createdAt: createdAt), at: at).map(\.key)
    }
  }

  private func isBlocked(_ guarding: ConversionGuard, _ prefix: String = "+1415555", at: UnixTime) -> Bool {
    guarding.block(ofPrefix: prefix, region: "US", at: at) != nil
  }

  @Test("A prefix is blocked with the one that reaches the minimum, and not before")
  func aPrefixIsBlockedWithTheOneThatReachesTheMinimumAndNotBefore() throws {
    var guarding = makeGuard()
    #expect(count(&guarding, [.verified, .expired, .expired], at: begin).isEmpty)
    #expect(!isBlocked(guarding, at: begin))
    let block = try #require(guarding.count(ending(.failed, at: begin), at: begin).first)
    #expect(block.scope == .prefix && block.key == "+1415555" && block.region == "US")
    #expect(block.counts == ConversionCounts(sent: 4, verified: 1))
    #expect(block.blockedAt == begin && block.until == begin + .seconds(12 * 3600))
    #expect(guarding.block(ofPrefix: "+1415555", region: "US", at: begin) == block)
    #expect(!isBlocked(guarding, "+1415556", at: begin))
    #expect(isBlocked(guarding, at: block.until - .milliseconds(1)))
    #expect(!isBlocked(guarding, at: block.until))
  }

  @Test("A conversion that reaches the floor is not too low")
  func aConversionThatReachesTheFloorIsNotTooLow() {
    var guarding = makeGuard()
    #expect(count(&guarding, [.verified, .verified, .expired, .expired], at: begin).isEmpty)
    #expect(count(&guarding, [.expired], at: begin) == ["+1415555"])
  }

  @Test("A region is blocked though no prefix of it is")
  func aRegionIsBlockedThoughNoPrefixOfItIs() {
    var guarding = makeGuard()
    for index in 0..<7 { #expect(count(&guarding, [.expired], "+14155\(index)", at: begin).isEmpty) }
    #expect(count(&guarding, [.expired], "+141559", at: begin) == ["US"])
    #expect(isBlocked(guarding, "+1999999", at: begin))
    #expect(guarding.block(ofPrefix: "+3361234", region: "FR", at: begin) == nil)
    #expect(guarding.blockCount(.region, at: begin) == 1 && guarding.blockCount(.prefix, at: begin) == 0)
  }

  @Test("Of two blocks that which lasts longer is told of")
  func ofTwoBlocksThatWhichLastsLongerIsToldOf() {
    var guarding = makeGuard()
    _ = count(&guarding, Array(repeating: .expired, count: 4), at: begin)
    let later = begin + .seconds(60)
    for index in 0..<4 { _ = count(&guarding, [.expired], "+14155\(index)", at: later) }
    #expect(guarding.block(ofPrefix: "+1415555", region: "US", at: later)?.scope == .region)
  }

  @Test("Verifications that ended an hour ago no longer count")
  func verificationsThatEndedAnHourAgoNoLongerCount() {
    var guarding = makeGuard()
    _ = count(&guarding, [.expired, .expired, .expired], at: begin)
    #expect(count(&guarding, [.expired], at: begin + .seconds(3600)).isEmpty)
    #expect(count(&guarding, [.expired, .expired], at: begin + .seconds(3660)).isEmpty)
    #expect(count(&guarding, [.expired], at: begin + .seconds(3720)) == ["+1415555"])
  }

  @Test("Within eleven twelfths of an hour all counts, in whatever order it comes")
  func withinElevenTwelfthsOfAnHourAllCountsInWhateverOrderItComes() {
    var guarding = makeGuard()
    for minutes in [50, 10, 54, 0] {
      let ended = ending(.expired, at: begin + .seconds(60 * minutes))
      let blocks = guarding.count(ended, at: begin + .seconds(60 * 54))
      #expect(blocks.isEmpty == (minutes != 0))
    }
  }

  @Test("A region with a floor of its own is held to that, and so are its prefixes; 0 blocks nothing")
  func aRegionWithAFloorOfItsOwnIsHeldToThatAndSoAreItsPrefixes0() {
    var guarding = makeGuard { $0.regionFloors = ["US": 0, "FR": 100] }
    #expect(count(&guarding, Array(repeating: .expired, count: 20), at: begin).isEmpty)
    #expect(count(&guarding, [.verified, .verified, .verified, .expired], "+3361234", "FR", at: begin) == ["+3361234"])
  }

  @Test("Switched off it counts nothing and blocks nothing, also of what was stored")
  func switchedOffItCountsNothingAndBlocksNothingAlsoOfWhat() {
    var guarding = makeGuard { $0.isEnabled = false }
    #expect(count(&guarding, Array(repeating: .expired, count: 20), at: begin).isEmpty)
    guarding.restore(
      ConversionBlock(
        scope: .prefix, key: "+1415555", region: "US", blockedAt: begin, until: begin + .seconds(60),
        counts: ConversionCounts()))
    #expect(!isBlocked(guarding, at: begin))
  }

  @Test("After a block only verifications count that began after it")
  func afterABlockOnlyVerificationsCountThatBeganAfterIt() {
    var guarding = makeGuard {
      $0.blockLength = .seconds(300)
      $0.minimumPerRegion = 100
    }
    let four = Array(repeating: ConversionEnding.Outcome.expired, count: 4)
    #expect(count(&guarding, four, at: begin) == ["+1415555"])
    let end = begin + .seconds(300)
    #expect(count(&guarding, four, at: end + .seconds(10), createdAt: end - .milliseconds(1)).isEmpty)
    #expect(count(&guarding, four, at: end + .seconds(10), createdAt: end) == ["+1415555"])
  }

  @Test("A lift ends the block at once, and begins anew")
  func aLiftEndsTheBlockAtOnceAndBeginsAnew() throws {
    var guarding = makeGuard { $0.minimumPerRegion = 100 }
    let four = Array(repeating: ConversionEnding.Outcome.expired, count: 4)
    _ = count(&guarding, four, at: begin)
    var block = try #require(guarding.block(ofPrefix: "+1415555", region: "US", at: begin))
    let lifted = begin + .seconds(60)
    block.liftedAt = lifted
    var other = block
    other.blockedAt = begin - .seconds(1)
    guarding.lift(other)
    #expect(isBlocked(guarding, at: lifted), "the lift of an earlier block")
    guarding.lift(block)
    #expect(!isBlocked(guarding, at: lifted))
    #expect(count(&guarding, four, at: lifted + .seconds(60), createdAt: lifted - .seconds(1)).isEmpty)
    #expect(count(&guarding, [.expired, .expired, .expired], at: lifted + .seconds(60), createdAt: lifted).isEmpty)
    #expect(count(&guarding, [.expired], at: lifted + .seconds(60), createdAt: lifted) == ["+1415555"])
  }

  @Test("A block is forgotten when nothing that began before it can count any more")
  func aBlockIsForgottenWhenNothingThatBeganBeforeItCanCountAnyMore() {
    var guarding = makeGuard { $0.blockLength = .seconds(300) }
    _ = count(&guarding, Array(repeating: .expired, count: 4), at: begin)
    let last = begin + .seconds(300 + 3600 + 600)
    #expect(guarding.obsolete(at: last - .milliseconds(1)).isEmpty)
    #expect(guarding.obsolete(at: last) == ["+1415555"])
    guarding.remove(["+1415555"], at: last)
    #expect(guarding.obsolete(at: last).isEmpty)
  }

  @Test("Counts from a clock that was ahead do not displace present ones")
  func countsFromAClockThatWasAheadDoNotDisplacePresentOnes() {
    var guarding = makeGuard()
    let ahead = begin + .seconds(100_000)
    _ = count(&guarding, [.verified, .verified, .verified, .verified], at: ahead, createdAt: ahead)
    #expect(count(&guarding, [.expired, .expired, .expired], at: begin).isEmpty)
    #expect(count(&guarding, [.expired], at: begin) == ["+1415555"])
  }

  @Test("Withdrawn counts do not count and a judged block stays")
  func withdrawnCountsDoNotCountAndAJudgedBlockStays() {
    var guarding = makeGuard()
    _ = count(&guarding, [.verified, .expired, .expired], at: begin)
    guarding.withdraw(ending(.expired, at: begin))
    #expect(guarding.worst(.prefix, limit: 9, at: begin).map(\.counts) == [ConversionCounts(sent: 2, verified: 1)])
    #expect(count(&guarding, [.expired], at: begin).isEmpty)
    #expect(count(&guarding, [.expired], at: begin) == ["+1415555"])
    let regions = guarding.worst(.region, limit: 9, at: begin).map(\.counts)
    guarding.withdraw(ending(.expired, at: begin))
    #expect(isBlocked(guarding, at: begin))
    #expect(guarding.worst(.prefix, limit: 9, at: begin).isEmpty)
    #expect(regions == [ConversionCounts(sent: 4, verified: 1)])
    // Only what is there can be taken back.
    for _ in 0..<9 { guarding.withdraw(ending(.expired, at: begin)) }
    #expect(guarding.worst(.region, limit: 9, at: begin).map(\.counts) == [ConversionCounts(sent: 1, verified: 1)])
  }

  @Test("A block that begins while an old one of its key is deleted stays")
  func begunMeanwhile() {
    var guarding = makeGuard { $0.blockLength = .seconds(60) }
    _ = count(&guarding, Array(repeating: .expired, count: 4), at: begin)
    let later = begin + .seconds(60 + 3600 + 600)
    let obsolete = guarding.obsolete(at: later)
    #expect(obsolete == ["+1415555"])
    #expect(count(&guarding, Array(repeating: .expired, count: 4), at: later) == ["+1415555"])
    guarding.remove(obsolete, at: later)
    #expect(isBlocked(guarding, at: later))
  }

  @Test("When there is no room for another block, prefixes are let through and regions are not")
  func whenThereIsNoRoomForAnotherBlockPrefixesAreLetThrough() {
    var policy = ConversionPolicy()
    policy.minimumPerPrefix = 1
    policy.minimumPerRegion = 3
    var guarding = ConversionGuard(policy, maximumLifetime: .seconds(600), maxBlocks: 1)
    #expect(count(&guarding, [.expired], "+141551", at: begin) == ["+141551"])
    #expect(count(&guarding, [.expired], "+141552", at: begin).isEmpty)
    #expect(count(&guarding, [.expired], "+141553", at: begin) == ["US"])
  }

  @Test("The worst is shown first, and nothing that is over")
  func theWorstIsShownFirstAndNothingThatIsOver() {
    var guarding = makeGuard { $0.minimumPerPrefix = 100 }
    _ = count(&guarding, [.verified, .verified, .verified, .expired], "+141551", at: begin)
    _ = count(&guarding, [.verified, .failed, .expired], "+141552", at: begin)
    _ = count(&guarding, [.verified], "+141553", at: begin)
    #expect(guarding.worst(.prefix, limit: 2, at: begin).map(\.key) == ["+141552", "+141551"])
    #expect(guarding.worst(.region, limit: 2, at: begin).map(\.counts) == [ConversionCounts(sent: 8, verified: 5)])
    #expect(guarding.worst(.prefix, limit: 9, at: begin + .seconds(3900)).isEmpty)
  }
}

@Suite("The table of the conversion")
struct ConversionTableTests {
  private func count(_ table: inout ConversionTable, _ key: String, slot: Int64, times: Int = 1) {
    for _ in 0..<times { _ = table.count(key, in: "US", isVerified: false, slot: slot, now: slot) }
  }

  @Test("A full table forgets what is over, before anything that counts")
  func aFullTableForgetsWhatIsOverBeforeAnythingThatCounts() {
    var table = ConversionTable(capacity: 8)
    for index in 0..<4 { count(&table, "old\(index)", slot: 0, times: 9) }
    for index in 0..<4 { count(&table, "new\(index)", slot: 12) }
    count(&table, "next", slot: 12)
    #expect(Set(table.worst(99, at: 12).map(\.key)) == ["new0", "new1", "new2", "new3", "next"])
    #expect(table.count == 5)
  }

  @Test("A table that is full of what counts forgets the least, a quarter at once")
  func aTableThatIsFullOfWhatCountsForgetsTheLeastAQuarterAtOnce() {
    var table = ConversionTable(capacity: 8)
    for index in 0..<8 { count(&table, "k\(index)", slot: 0, times: index + 1) }
    count(&table, "next", slot: 0)
    #expect(Set(table.worst(99, at: 0).map(\.key)) == ["k2", "k3", "k4", "k5", "k6", "k7", "next"])
  }

  @Test("A known key needs no room")
  func aKnownKeyNeedsNoRoom() {
    var table = ConversionTable(capacity: 4)
    for index in 0..<4 { count(&table, "k\(index)", slot: 0) }
    count(&table, "k0", slot: 0)
    #expect(table.count == 4)
  }
}

extension ConversionGuard {
  fileprivate func worst(_ scope: ConversionBlock.Scope, limit: Int, at now: UnixTime) -> [ConversionTable.Figures] {
    ConversionTable.worst(of: figures(scope, at: now), limit: limit)
  }
}

extension ConversionTable {
  fileprivate func worst(_ limit: Int, at slot: Int64) -> [Figures] {
    Self.worst(of: figures(at: slot), limit: limit)
  }
}
