import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ConversionHearingTests {
  let begin = ConversionsUnderTest.begin

  /// A coordinator whose broker may be away.
  private func coordinator(
    _ file: StoreFile, startedAt: UnixTime, broker: BrokerPresence = BrokerPresence()
  ) async throws -> ConversionsUnderTest {
    try await ConversionsUnderTest(startedAt: startedAt, file: file, isShared: true, broker: broker)
  }

  @Test func `One that joins another is no outage; the first one is`() async throws {
    let file = try StoreFile()
    let first = try await coordinator(file, startedAt: begin)
    try await first.flow.begin(first.store, at: begin)
    try await first.listen(at: begin + .seconds(1))
    let only = [ConversionOutage(since: begin, until: begin)]
    #expect(try await first.outages() == only)
    let second = try await coordinator(file, startedAt: begin + .seconds(4))
    try await second.flow.begin(second.store, at: begin + .seconds(5))
    #expect(try await second.outages() == only)
    // After all have been away for a while, one that starts is an outage again.
    let late = try await coordinator(file, startedAt: begin + .seconds(20))
    try await late.flow.begin(late.store, at: begin + .seconds(20))
    #expect(try await late.outages().count == 2)
  }

  @Test func `One that has lost the broker is no outage while another takes commands, and one from its end on`()
    async throws
  {
    let file = try StoreFile()
    let broker = BrokerPresence()
    let (well, cut) = (
      try await coordinator(file, startedAt: begin), try await coordinator(file, startedAt: begin, broker: broker)
    )
    try await well.flow.begin(well.store, at: begin)
    try await well.listen(at: begin)
    try await cut.flow.begin(cut.store, at: begin)
    broker.isThere = false
    for second in 1...30 {
      try await well.listen(at: begin + .seconds(second))
      try await cut.listen(at: begin + .seconds(second))
    }
    #expect(try await cut.outages().count == 1)
    // The other ends at second 30.
    for second in 31...40 { try await cut.listen(at: begin + .seconds(second)) }
    let last = try #require(try await cut.outages().last)
    #expect((begin + .seconds(27)...begin + .seconds(30)).contains(last.since))
    #expect(last.until == begin + .seconds(40))
  }

  @Test func `A silence of one process is no outage while another was heard`() async throws {
    let file = try StoreFile()
    let (first, stuck) = (
      try await coordinator(file, startedAt: begin), try await coordinator(file, startedAt: begin)
    )
    try await first.flow.begin(first.store, at: begin)
    for second in 0...60 { try await first.listen(at: begin + .seconds(second)) }
    try await stuck.listen(at: begin + .seconds(60))
    #expect(try await first.outages().count == 1)
  }

  @Test func `The time is renewed every few seconds, by whichever comes first, and one of the future counts as now`()
    async throws
  {
    let file = try StoreFile()
    let (one, other) = (
      try await coordinator(file, startedAt: begin), try await coordinator(file, startedAt: begin)
    )
    try await one.flow.begin(one.store, at: begin)
    func version() async throws -> Int {
      let id = try #require(RecordID(RecordKind("conversionHeard"), "last"))
      return try await one.store.read(StoreKeys(), at: begin) { set throws(StoreError) in
        try set.record(id)?.version ?? 0
      }
    }
    for second in 0...9 {
      try await one.listen(at: begin + .seconds(second))
      try await other.listen(at: begin + .seconds(second))
    }
    #expect(try await version() == 4)
    // The clock was set back.
    try await one.listen(at: begin + .seconds(5))
    #expect(try await version() == 4)
  }
}
