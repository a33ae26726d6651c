import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ConversionsTests {
  let begin = ConversionsUnderTest.begin

  private func ending(
    _ outcome: ConversionEnding.Outcome, _ prefix: String = "+1415555", _ region: String = "US", at: UnixTime,
    createdAt: UnixTime? = nil, source: [UInt8] = []
  ) -> ConversionEnding {
    ConversionsUnderTest.ending(outcome, prefix, region, at: at, createdAt: createdAt, source: source)
  }

  @Test func `One asker closes no region, two do, and those of nobody in particular all count`() async throws {
    func blocked(_ sources: [[UInt8]]) async throws -> [String] {
      let bench = try await ConversionsUnderTest { $0.minimumPerPrefix = 1_000 }
      var keys: [String] = []
      for (index, source) in sources.enumerated() {
        let ending = ending(.expired, "+1415\(index)", at: begin, source: source)
        keys += try await bench.count(ending, at: begin).map(\.key)
      }
      return keys
    }
    #expect(try await blocked(Array(repeating: [1], count: 100)).isEmpty)
    #expect(try await blocked(Array(repeating: [1], count: 100) + Array(repeating: [2], count: 3)) == ["US"])
    #expect(try await blocked(Array(repeating: [], count: 8)) == ["US"])
  }

  @Test func `A verification that did not count for its requester takes nothing back when withdrawn`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerPrefix = 1_000 }
    let one = ending(.expired, at: begin, source: [1])
    for _ in 0..<20 { #expect(try await bench.count(one, at: begin).isEmpty) }
    for _ in 0..<15 { try await bench.withdraw(one, at: begin) }
    #expect(try await bench.worst(.region, at: begin).map(\.counts.sent) == [5])
    try await bench.withdraw(one, at: begin)
    #expect(try await bench.worst(.region, at: begin).map(\.counts.sent) == [4])
    // Its count begins anew with the window.
    let later = begin + .seconds(7200)
    #expect(try await bench.count(ending(.expired, at: later, source: [1]), at: later).isEmpty)
    #expect(try await bench.worst(.region, at: later).map(\.counts.sent) == [1])
  }

  @Test func `Of an asker who goes on and on a share counts in each window, slot by slot`() async throws {
    let bench = try await ConversionsUnderTest {
      $0.minimumPerPrefix = 1_000
      $0.minimumPerRegion = 1_000
    }
    var most = 0
    for minutes in stride(from: 0, to: 180, by: 5) {
      let now = begin + .seconds(60 * minutes)
      for _ in 0..<3 { _ = try await bench.count(ending(.expired, at: now, source: [1]), at: now) }
      let sent = try await bench.worst(.region, at: now).map(\.counts.sent)
      most = max(most, sent.first ?? 0)
      if minutes >= 5 { #expect(sent == [5], "\(minutes)") }
      // Codes that come back count without a bound.
      if minutes == 175 {
        for _ in 0..<9 { _ = try await bench.count(ending(.verified, at: now, source: [1]), at: now) }
        let counts = try await bench.worst(.region, at: now).map(\.counts)
        #expect(counts == [ConversionCounts(sent: 14, verified: 9)])
      }
    }
    #expect(most == 5)
  }

  @Test func `A prefix is blocked with the one that reaches the minimum, and not before`() async throws {
    let bench = try await ConversionsUnderTest()
    #expect(try await bench.count([.verified, .expired, .expired], at: begin).isEmpty)
    #expect(try await !bench.isBlocked(at: begin))
    let block = try #require(try await bench.count(ending(.failed, at: begin), at: begin).first)
    #expect(block.scope == .prefix && block.key == "+1415555" && block.region == "US")
    #expect(block.counts == ConversionCounts(sent: 4, verified: 1))
    #expect(block.blockedAt == begin && block.until == begin + .seconds(12 * 3600))
    #expect(try await bench.block(ofPrefix: "+1415555", region: "US", at: begin) == block)
    #expect(try await !bench.isBlocked("+1415556", at: begin))
    #expect(try await bench.isBlocked(at: block.until - .milliseconds(1)))
    #expect(try await !bench.isBlocked(at: block.until))
  }

  @Test func `A conversion that reaches the floor is not too low`() async throws {
    let bench = try await ConversionsUnderTest()
    #expect(try await bench.count([.verified, .verified, .expired, .expired], at: begin).isEmpty)
    #expect(try await bench.count([.expired], at: begin) == ["+1415555"])
  }

  @Test func `A region is blocked though no prefix of it is`() async throws {
    let bench = try await ConversionsUnderTest()
    for index in 0..<7 { #expect(try await bench.count([.expired], "+14155\(index)", at: begin).isEmpty) }
    #expect(try await bench.count([.expired], "+141559", at: begin) == ["US"])
    #expect(try await bench.isBlocked("+1999999", at: begin))
    #expect(try await bench.block(ofPrefix: "+3361234", region: "FR", at: begin) == nil)
    #expect(try await bench.store.count(ConversionRecords.inForce(.region)) == 1)
    #expect(try await bench.store.count(ConversionRecords.inForce(.prefix)) == 0)
    #expect(try await bench.store.count(ConversionRecords.allBlocks) == 1)
  }

  @Test func `Of two blocks that which lasts longer is told of`() async throws {
    let bench = try await ConversionsUnderTest()
    _ = try await bench.count(Array(repeating: .expired, count: 4), at: begin)
    let later = begin + .seconds(60)
    for index in 0..<4 { _ = try await bench.count([.expired], "+14155\(index)", at: later) }
    #expect(try await bench.block(ofPrefix: "+1415555", region: "US", at: later)?.scope == .region)
  }

  @Test func `Verifications that ended an hour ago no longer count`() async throws {
    let bench = try await ConversionsUnderTest()
    _ = try await bench.count([.expired, .expired, .expired], at: begin)
    #expect(try await bench.count([.expired], at: begin + .seconds(3600)).isEmpty)
    #expect(try await bench.count([.expired, .expired], at: begin + .seconds(3660)).isEmpty)
    #expect(try await bench.count([.expired], at: begin + .seconds(3720)) == ["+1415555"])
  }

  @Test func `Within eleven twelfths of an hour all counts, in whatever order it comes`() async throws {
    let bench = try await ConversionsUnderTest()
    for minutes in [50, 10, 54, 0] {
      let ended = ending(.expired, at: begin + .seconds(60 * minutes))
      let blocks = try await bench.count(ended, at: begin + .seconds(60 * 54))
      #expect(blocks.isEmpty == (minutes != 0))
    }
  }

  @Test func `Cells are purged when no window includes them any more`() async throws {
    let bench = try await ConversionsUnderTest()
    let ended = begin + .seconds(60)
    _ = try await bench.count(ending(.expired, at: ended, source: [1]), at: ended)
    #expect(try await bench.store.purge(.counters, limit: 9, at: begin + .milliseconds(3_599_999)) == 0)
    // Sent by prefix and by region, and the asker's.
    #expect(try await bench.store.purge(.counters, limit: 9, at: begin + .seconds(3600)) == 3)
  }

  @Test(arguments: [(7_200, true), (1_800, true), (60, false)])
  func `A change of the window keeps what it still includes`(seconds: Int, isBlocked: Bool) async throws {
    let file = try StoreFile()
    let bench = try await ConversionsUnderTest(file: file)
    _ = try await bench.count([.verified, .expired, .expired], at: begin)
    let later = begin + .seconds(300)
    let next = try await ConversionsUnderTest(file: file) { $0.window = .seconds(seconds) }
    #expect(try await next.count([.expired], at: later) == (isBlocked ? ["+1415555"] : []))
  }

  @Test func `A region with a floor of its own is held to that, and so are its prefixes; 0 blocks nothing`()
    async throws
  {
    let bench = try await ConversionsUnderTest { $0.regionFloors = ["US": 0, "FR": 100] }
    #expect(try await bench.count(Array(repeating: .expired, count: 20), at: begin).isEmpty)
    let outcomes: [ConversionEnding.Outcome] = [.verified, .verified, .verified, .expired]
    #expect(try await bench.count(outcomes, "+3361234", "FR", at: begin) == ["+3361234"])
  }

  @Test func `Switched off it counts nothing and blocks nothing, also of what was stored`() async throws {
    let bench = try await ConversionsUnderTest { $0.isEnabled = false }
    #expect(try await bench.count(Array(repeating: .expired, count: 20), at: begin).isEmpty)
    #expect(try await bench.worst(.prefix, at: begin).isEmpty)
    let (conversions, begin) = (bench.conversions, begin)
    try await bench.change(ending(.expired, at: begin), at: begin) { set throws(StoreError) in
      try conversions.records.put(
        ConversionBlock(
          scope: .prefix, key: "+1415555", region: "US", blockedAt: begin, until: begin + .seconds(60),
          counts: ConversionCounts()), in: &set)
    }
    #expect(try await !bench.isBlocked(at: begin))
  }

  @Test func `After a block only verifications count that began after it`() async throws {
    let bench = try await ConversionsUnderTest {
      $0.blockLength = .seconds(300)
      $0.minimumPerRegion = 100
    }
    let four = Array(repeating: ConversionEnding.Outcome.expired, count: 4)
    #expect(try await bench.count(four, at: begin) == ["+1415555"])
    let end = begin + .seconds(300)
    #expect(try await bench.count(four, at: end + .seconds(10), createdAt: end - .milliseconds(1)).isEmpty)
    #expect(try await bench.count(four, at: end + .seconds(10), createdAt: end) == ["+1415555"])
  }

  @Test func `A lift ends the block at once, and begins anew`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerRegion = 100 }
    let four = Array(repeating: ConversionEnding.Outcome.expired, count: 4)
    _ = try await bench.count(four, at: begin)
    let block = try #require(try await bench.block(at: begin))
    let lifted = begin + .seconds(60)
    try await bench.lift(block, at: lifted)
    #expect(try await !bench.isBlocked(at: lifted))
    #expect(try await bench.store.count(ConversionRecords.inForce(.prefix)) == 0)
    let later = lifted + .seconds(60)
    #expect(try await bench.count(four, at: later, createdAt: lifted - .seconds(1)).isEmpty)
    #expect(try await bench.count([.expired, .expired, .expired], at: later, createdAt: lifted).isEmpty)
    #expect(try await bench.count([.expired], at: later, createdAt: lifted) == ["+1415555"])
  }

  @Test func `A block is forgotten when nothing that began before it can count any more`() async throws {
    let bench = try await ConversionsUnderTest { $0.blockLength = .seconds(300) }
    _ = try await bench.count(Array(repeating: .expired, count: 4), at: begin)
    let last = begin + .seconds(300 + 3600 + 600)
    #expect(try await bench.store.purge(.records, limit: 9, at: last) == 0, "it has not ended yet")
    try await bench.sweep(at: begin + .seconds(300))
    #expect(try await bench.store.count(ConversionRecords.inForce(.prefix)) == 0)
    #expect(try await bench.store.purge(.records, limit: 9, at: last - .milliseconds(1)) == 0)
    #expect(try await bench.store.purge(.records, limit: 9, at: last) == 1)
    #expect(try await bench.store.count(ConversionRecords.allBlocks) == 0)
  }

  @Test func `Counts from a clock that was ahead do not displace present ones`() async throws {
    let bench = try await ConversionsUnderTest()
    // So long ahead that only its cells are loaded.
    for hours in 0..<40 {
      let ahead = begin + .seconds(100_000 + 3600 * hours)
      for minutes in stride(from: 0, to: 60, by: 15) {
        let time = ahead + .seconds(60 * minutes)
        _ = try await bench.count([.verified, .verified, .verified, .verified], at: time, createdAt: time)
      }
    }
    #expect(try await bench.count([.expired, .expired, .expired], at: begin).isEmpty)
    #expect(try await bench.count([.expired], at: begin) == ["+1415555"])
  }

  @Test func `Withdrawn counts do not count and a judged block stays`() async throws {
    let bench = try await ConversionsUnderTest()
    _ = try await bench.count([.verified, .expired, .expired], at: begin)
    try await bench.withdraw(ending(.expired, at: begin), at: begin)
    #expect(try await bench.worst(.prefix, at: begin).map(\.counts) == [ConversionCounts(sent: 2, verified: 1)])
    #expect(try await bench.count([.expired], at: begin).isEmpty)
    #expect(try await bench.count([.expired], at: begin) == ["+1415555"])
    let regions = try await bench.worst(.region, at: begin).map(\.counts)
    try await bench.withdraw(ending(.expired, at: begin), at: begin)
    #expect(try await bench.isBlocked(at: begin))
    #expect(try await bench.worst(.prefix, at: begin).isEmpty)
    #expect(regions == [ConversionCounts(sent: 4, verified: 1)])
    // Only what is there can be taken back.
    for _ in 0..<9 { try await bench.withdraw(ending(.expired, at: begin), at: begin) }
    #expect(try await bench.worst(.region, at: begin).map(\.counts) == [ConversionCounts(sent: 1, verified: 1)])
  }

  @Test func `A block that begins while an old one of its key is deleted stays`() async throws {
    let bench = try await ConversionsUnderTest { $0.blockLength = .seconds(60) }
    _ = try await bench.count(Array(repeating: .expired, count: 4), at: begin)
    try await bench.sweep(at: begin + .seconds(60))
    let later = begin + .seconds(60 + 3600 + 600)
    #expect(try await bench.count(Array(repeating: .expired, count: 4), at: later) == ["+1415555"])
    #expect(try await bench.store.purge(.records, limit: 9, at: later) == 0)
    #expect(try await bench.isBlocked(at: later))
  }

  @Test func `When there is no room for another block, prefixes are let through and regions are not`() async throws {
    let file = try StoreFile()
    let bench = try await ConversionsUnderTest(maxBlocks: 1, file: file) {
      $0.minimumPerPrefix = 1
      $0.minimumPerRegion = 4
    }
    #expect(try await bench.count([.expired], "+141551", at: begin) == ["+141551"])
    #expect(try await bench.count([.expired], "+141552", at: begin).isEmpty)
    // The next process knows of it as well.
    let next = try await ConversionsUnderTest(maxBlocks: 1, file: file) {
      $0.minimumPerPrefix = 1
      $0.minimumPerRegion = 4
    }
    try await next.flow.begin(next.store, at: begin)
    #expect(try await next.count([.expired], "+141554", at: begin + .seconds(61)).isEmpty)
    #expect(try await next.count([.expired], "+141553", at: begin + .seconds(61)) == ["US"])
  }

  @Test func `The worst is shown first, and nothing that is over`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerPrefix = 100 }
    _ = try await bench.count([.verified, .verified, .verified, .expired], "+141551", at: begin)
    _ = try await bench.count([.verified, .failed, .expired], "+141552", at: begin)
    _ = try await bench.count([.verified], "+141553", at: begin)
    _ = try await bench.count([.expired], "+883123", "+883", at: begin)
    let prefixes = try await bench.worst(.prefix, limit: 3, at: begin)
    #expect(prefixes.map(\.key) == ["+141552", "+141551", "+883123"])
    #expect(prefixes.map(\.region) == ["US", "US", "+883"])
    let regions = try await bench.worst(.region, limit: 1, at: begin)
    #expect(regions == [ConversionFigures(key: "US", region: "US", counts: ConversionCounts(sent: 8, verified: 5))])
    #expect(try await bench.worst(.prefix, at: begin + .seconds(3900)).isEmpty)
  }

  @Test func `A block that cannot be read blocks nothing, and a new one takes its place`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerRegion = 100 }
    _ = try await bench.count(Array(repeating: .expired, count: 4), at: begin)
    let id = try #require(RecordID(ConversionRecords.blockKind, "+1415555"))
    _ = try await bench.store.transact(at: begin) { set throws(StoreError) -> Void in
      guard var record = try set.record(id) else { return }
      record.body = [99]
      try set.put(record)
    }
    #expect(try await !bench.isBlocked(at: begin))
    let list = try await ConversionListOrder(.init(), bench.conversions).read(bench.store, at: begin)
    #expect(list.blocks.isEmpty && list.blockCount == 0)
    #expect(try await bench.count(Array(repeating: .expired, count: 4), at: begin) == ["+1415555"])
    #expect(try await bench.isBlocked(at: begin))
  }

  @Test func `More blocks than a page holds are listed, the latest first`() async throws {
    let bench = try await ConversionsUnderTest()
    let (conversions, begin, count) = (bench.conversions, begin, 600)
    _ = try await bench.store.transact(at: begin) { set throws(StoreError) -> Void in
      for index in 0..<count {
        // What one of them misses is loaded with what the others miss.
        try? conversions.records.put(
          ConversionBlock(
            scope: index % 3 == 0 ? .region : .prefix, key: "+\(1000 + index)", region: "US",
            blockedAt: begin + .seconds(index % 5), until: begin + .seconds(1_000 + index), counts: ConversionCounts()),
          in: &set)
      }
    }
    let list = try await ConversionListOrder(.init(limit: 100), conversions).read(
      bench.store, at: begin + .seconds(1_009))
    #expect(list.blockCount == count - 10 && list.blocks.count == 100)
    #expect(list.blocks.first?.key == "+1014" && list.blocks.allSatisfy { $0.blockedAt == begin + .seconds(4) })
    #expect(list.blocks.map(\.key) == list.blocks.map(\.key).sorted())
  }
}
