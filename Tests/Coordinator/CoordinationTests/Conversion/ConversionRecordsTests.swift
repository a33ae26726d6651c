import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ConversionRecordsTests {
  let begin = ConversionsUnderTest.begin

  private func isCounted(_ bench: ConversionsUnderTest, at: UnixTime, createdAt: UnixTime) async throws -> Bool {
    let before = try await bench.worst(.prefix, at: at).first?.counts.sent ?? 0
    _ = try await bench.count(ConversionsUnderTest.ending(.expired, at: at, createdAt: createdAt), at: at)
    return try await bench.worst(.prefix, at: at).first?.counts.sent ?? 0 > before
  }

  @Test func `The time without a process is an outage, and excuses what expired in it`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerPrefix = 100 }
    try await bench.flow.begin(bench.store, at: begin)
    #expect(try await bench.outages() == [ConversionOutage(since: begin, until: begin)])
    let after = begin + .seconds(10)
    #expect(try await !isCounted(bench, at: after, createdAt: begin - .seconds(300)))
    #expect(try await isCounted(bench, at: after, createdAt: begin))
    // Codes that came back, and wrong ones, did come back.
    let failed = ConversionsUnderTest.ending(.failed, at: after, createdAt: begin - .seconds(300))
    _ = try await bench.count(failed, at: after)
    #expect(try await bench.worst(.prefix, at: after).map(\.counts.sent) == [2])
  }

  @Test func `An outage is stored once it is noticed, with its end, and each start finds it`() async throws {
    let file = try StoreFile()
    let bench = try await ConversionsUnderTest(file: file)
    try await bench.flow.begin(bench.store, at: begin)
    try await bench.listen(at: begin + .seconds(9))
    try await bench.listen(at: begin + .seconds(40))
    let expected = [
      ConversionOutage(since: begin, until: begin),
      ConversionOutage(since: begin + .seconds(9), until: begin + .seconds(40)),
    ]
    #expect(try await bench.outages() == expected)
    try await bench.listen(at: begin + .seconds(41))
    #expect(try await bench.outages() == expected)
    let restart = begin + .seconds(100)
    let next = try await ConversionsUnderTest(startedAt: restart, file: file)
    try await next.flow.begin(next.store, at: restart)
    #expect(try await next.outages() == expected + [ConversionOutage(since: restart, until: restart)])
    // When they make no difference any more, they go.
    let later = begin + .seconds(100 + 3600 + 600 + 1)
    let last = try await ConversionsUnderTest(startedAt: later, file: file)
    try await last.flow.begin(last.store, at: later)
    #expect(try await last.outages() == [ConversionOutage(since: later, until: later)])
  }

  @Test func `Purged outages go as well`() async throws {
    let bench = try await ConversionsUnderTest()
    try await bench.flow.begin(bench.store, at: begin)
    let end = begin + .seconds(3600 + 600)
    #expect(try await bench.store.purge(.records, limit: 9, at: end - .milliseconds(1)) == 0)
    #expect(try await bench.store.purge(.records, limit: 9, at: end) == 1)
  }

  @Test func `An outage that cannot be stored yet excuses all the same, and is stored later`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerPrefix = 100 }
    try await bench.flow.begin(bench.store, at: begin)
    let closed = try await StoreFile().open()
    await closed.close()
    let task = try #require(bench.flow.tasks.first)
    await #expect(throws: StoreError.self) { _ = try await task.run(closed, begin + .seconds(60)) }
    let now = begin + .seconds(61)
    #expect(try await !isCounted(bench, at: now, createdAt: begin + .seconds(30)))
    #expect(try await bench.outages().count == 1)
    try await bench.listen(at: now)
    #expect(try await bench.outages().last == ConversionOutage(since: begin, until: begin + .seconds(60)))
    #expect(try await !isCounted(bench, at: now, createdAt: begin + .seconds(30)))
    #expect(try await isCounted(bench, at: now + .seconds(1), createdAt: begin + .seconds(60)))
  }

  @Test func `A clock that was ahead leaves no stored outage of the future behind`() async throws {
    let bench = try await ConversionsUnderTest { $0.minimumPerPrefix = 100 }
    try await bench.flow.begin(bench.store, at: begin)
    try await bench.listen(at: begin + .seconds(86_400))
    #expect(try await bench.outages().last?.until == begin + .seconds(86_400))
    let now = begin + .seconds(20)
    try await bench.listen(at: now)
    #expect(try await bench.outages().allSatisfy { $0.until <= now })
    #expect(try await isCounted(bench, at: now + .seconds(300), createdAt: now))
  }

  @Test func `There is a bound to how many are stored: the oldest are one then, whoever stored them`() async throws {
    let file = try StoreFile()
    let bench = try await ConversionsUnderTest(file: file)
    let (records, begin, count) = (bench.conversions.records, begin, ConversionOutages.maxCount)
    _ = try await bench.store.transact(at: begin) { set throws(StoreError) -> Void in
      for index in 0..<count {
        let since = begin + .seconds(index * 10)
        try records.put(ConversionOutage(since: since, until: since + .seconds(1)), in: &set)
      }
    }
    let start = begin + .seconds(count * 10)
    let next = try await ConversionsUnderTest(startedAt: start, file: file)
    try await next.flow.begin(next.store, at: start)
    let outages = try await next.outages()
    #expect(outages.count == count)
    #expect(outages.first == ConversionOutage(since: begin, until: begin + .seconds(11)))
    #expect(outages.last == ConversionOutage(since: start, until: start))
    // Another process stores one that this one does not know.
    let other = ConversionOutage(since: start + .seconds(30), until: start + .seconds(31))
    _ = try await bench.store.transact(at: start) { set throws(StoreError) -> Void in
      try records.replace([], by: [other], in: &set)
    }
    #expect(try await next.outages().count == count)
    #expect(try await next.outages().first?.until == begin + .seconds(21))
    #expect(try await next.outages().last == other)
  }
}
