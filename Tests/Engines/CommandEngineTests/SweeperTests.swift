import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// One record that cannot be read must keep no other.
@Suite struct SweeperTests {
  private static let stores = StoreUnderTest.allCases

  private func tidy(_ bench: FlowBench) async -> [String] {
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    let isPublished = !bench.sink.published.isEmpty
    #expect(!isPublished, "a sweep waits for no broker")
    await bench.maintenance.publishLeftovers()
    return bench.events.compactMap(\.messageID)
  }

  private func damage(_ text: String, _ bench: FlowBench) async throws {
    let id = try id(text, NoteFlow.kind)
    _ = try await bench.store.store.transact(keys(records: [id]), at: start) { set throws(StoreError) in
      guard var record = try set.record(id) else { throw StoreError.unreadableBody }
      record.body = [9]
      try set.put(record)
    }
  }

  @Test(arguments: stores)
  func `A record that is due ends with its event, and is deleted in its time`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["a", "b"]])
      #expect(await tidy(bench).isEmpty)
      bench.clock.advance(by: NoteFlow.lifetime)
      #expect(await tidy(bench) == ["a", "b"])
      #expect(bench.metric("notes_ended_total") == 2)
      #expect(bench.metric("countersign_outbox_messages") == 0)
      bench.clock.advance(by: NoteFlow.retention + NoteFlow.lifetime - .milliseconds(1))
      #expect(await tidy(bench).isEmpty)
      #expect(try await bench.stored("a") != nil)
      bench.clock.advance(by: .milliseconds(1))
      #expect(await tidy(bench).isEmpty)
      #expect(try await bench.stored("a") == nil)
      #expect(bench.metric("notes_ended_total") == 2)
    }
  }

  @Test(arguments: [StoreError.Code.content, .tooLarge])
  func `A sweep that fails goes on with one record at a time`(code: StoreError.Code) async throws {
    let bench = try await FlowBench()
    try await bench.put([["a", "b", "c"]])
    bench.clock.advance(by: NoteFlow.lifetime)
    // All together, and then the first of them.
    bench.store.fail(code, .sweep, times: 2)
    #expect(await tidy(bench) == ["b", "c"])
    #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 1)
    #expect(bench.context.health.state == .ok)
  }

  @Test(arguments: [StoreError.Code.statement, .conflict, .full])
  func `A failure that may be the store's puts off no record`(code: StoreError.Code) async throws {
    let bench = try await FlowBench()
    try await bench.put([["a"]])
    bench.clock.advance(by: NoteFlow.lifetime)
    bench.store.fail(code, .sweep)
    #expect(await tidy(bench).isEmpty)
    #expect(bench.context.health.state != .ok)
    bench.store.recover()
    #expect(await tidy(bench) == ["a"])
  }

  @Test(arguments: stores)
  func `However many are due, a round ends them`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([(0..<600).map { "n\($0)" }])
      bench.clock.advance(by: NoteFlow.lifetime)
      await bench.maintenance.tidy()
      #expect(bench.metric("notes_ended_total") == 600)
    }
  }

  @Test(arguments: stores)
  func `A record that its flow cannot read is skipped: the others end, its key is free, it goes in its time`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["a", "b"]])
      try await damage("a", bench)
      #expect(try await bench.store.count(NoteFlow.live) == 2)
      bench.clock.advance(by: NoteFlow.lifetime)
      #expect(await tidy(bench) == ["b"])
      #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 1)
      #expect(bench.logged("skipped") == 1)
      #expect(bench.context.health.state == .ok)
      #expect(await tidy(bench).isEmpty)
      #expect(bench.logged("skipped") == 1)
      #expect(try await bench.store.count(NoteFlow.live) == 0)
      #expect(try await bench.stored("a")?.dueAt == bench.clock.now() + Sweeper.pause)
      bench.clock.advance(by: NoteFlow.retention)
      #expect(await tidy(bench).isEmpty)
      #expect(try await bench.stored("a") == nil)
      #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 2)
    }
  }

  @Test(arguments: stores)
  func `A record that the store cannot read is skipped as well`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let bench = FlowBench(try await data.open())
      try await bench.put([["a", "b"]])
      try await data.spoil(id("a", NoteFlow.kind))
      bench.clock.advance(by: NoteFlow.lifetime)
      #expect(await tidy(bench) == ["b"])
      #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 1)
      #expect(await tidy(bench).isEmpty)
      #expect(bench.logged("skipped") == 1)
      bench.clock.advance(by: NoteFlow.retention)
      await bench.maintenance.tidy()
      #expect(try await bench.stored("a") == nil)
    }
  }

  @Test(arguments: stores, ["half", "stale", "endlessEnd"])
  func `Of a record that its flow gives up midway, nothing remains`(_ kind: StoreUnderTest, _ text: String) async throws
  {
    try await FlowBench.with(kind) { bench in
      try await bench.put([[text, "a"]])
      bench.clock.advance(by: NoteFlow.lifetime)
      #expect(await tidy(bench) == ["a"])
      #expect(bench.metric("notes_ended_total") == 1)
      #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 1)
      #expect(bench.context.health.state == .ok)
    }
  }

  @Test(arguments: stores)
  func `A record that its flow leaves as it is does not come again at once`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["untouched"]])
      bench.clock.advance(by: NoteFlow.lifetime)
      #expect(await tidy(bench).isEmpty)
      #expect(try await bench.stored("untouched")?.dueAt == bench.clock.now() + Sweeper.pause)
      #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 0)
    }
  }

  @Test func `Of many unreadable records the log names a few`() async throws {
    let bench = try await FlowBench()
    let texts = (0..<40).map { "n\($0)" }
    try await bench.put([texts])
    for text in texts { try await damage(text, bench) }
    bench.clock.advance(by: NoteFlow.lifetime)
    #expect(await tidy(bench).isEmpty)
    #expect(bench.metric(#"countersign_rows_skipped_total{table="note"}"#) == 40)
    #expect(bench.logged("skipped") == Sweeper.maxLogged)
  }

  @Test func `A store that fails ends nothing, and nothing is counted`() async throws {
    let bench = try await FlowBench()
    try await bench.put([["a"]])
    bench.clock.advance(by: NoteFlow.lifetime)
    bench.store.fail(.full, .sweep, times: 1)
    #expect(await tidy(bench).isEmpty)
    #expect(bench.metric("notes_ended_total") == 0)
    #expect(bench.context.health.keepsCommandsWaiting(orEnding: NoteFlow.part))
    #expect(await tidy(bench) == ["a"])
    #expect(!bench.context.health.keepsCommandsWaiting(orEnding: NoteFlow.part))
  }
}
