import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

// The limit ends a test that hangs; the wait for a turn at PostgreSQL counts.
@Suite("Maintenance", .timeLimit(.minutes(10)))
struct MaintenanceTests {
  let bench: FlowBench

  init() async throws { bench = try await FlowBench() }

  private static let stores = StoreUnderTest.allCases

  @Test func `A part that fails is counted and told of until it succeeds, whatever the others do`() async throws {
    try await bench.put([["a"]])
    await bench.maintenance.tidy()
    #expect(bench.context.health.state == .ok)
    bench.store.fail(.damaged, .sweep)
    bench.clock.advance(by: bench.context.rules.inboxRetention)
    await bench.maintenance.tidy()
    await bench.maintenance.tidy()
    #expect(bench.metric(#"countersign_maintenance_failures_total{part="end_notes"}"#) == 2)
    #expect(bench.metric(#"countersign_maintenance_failures_total{part="purge_replies"}"#) == 0)
    #expect(try await bench.recorded(["a"]) == 0, "the other parts go on")
    guard case .failing(let what, _) = bench.context.health.state else {
      Issue.record("readiness says that all is well")
      return
    }
    #expect(what.contains("end_notes"))
    bench.store.recover()
    await bench.maintenance.tidy()
    #expect(bench.context.health.state == .ok)
  }

  @Test func `An outage of the store is a line when it begins and a line when it is over, whatever fails meanwhile`()
    async throws
  {
    for outage in 1...2 {
      bench.store.fail(.unavailable)
      for _ in 0..<5 {
        await bench.maintenance.tidy()
        await bench.maintenance.publishLeftovers()
      }
      #expect(bench.logs.events.count { $0.level == .error } == outage)
      #expect(bench.logged("takes no writes") == outage && bench.logged("takes writes again") == outage - 1)
      bench.store.recover()
      await bench.maintenance.tidy()
      await bench.maintenance.publishLeftovers()
      #expect(bench.logged("takes writes again") == outage)
    }
  }

  @Test func `A part that fails by itself is told of once, and again when it fails after it had worked`() async throws {
    let maintenance = bench.maintenance
    for time in 1...2 {
      bench.store.fail(.statement, .sweep)
      for _ in 0..<5 { await maintenance.tidy() }
      #expect(bench.logged("a part of the maintenance failed") == time)
      bench.store.recover()
      await maintenance.tidy()
    }
  }

  @Test func `Counters of alerts that fire at a first event stand at 0 before it`() async throws {
    try await bench.maintenance.begin()
    for table in ["note", "outbox"] {
      #expect(bench.metric("countersign_rows_skipped_total{table=\"\(table)\"}") == 0)
    }
    for part in ["end_notes", "publish_leftovers", "measure"] {
      #expect(bench.metric("countersign_maintenance_failures_total{part=\"\(part)\"}") == 0)
    }
    for command in ["note.put", "unknown"] {
      #expect(bench.metric("countersign_commands_total{command=\"\(command)\",code=\"INTERNAL_ERROR\"}") == 0)
    }
  }

  @Test(arguments: stores)
  func `Its parts have these names`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.deliver(try bench.note("a", .job))
      bench.store.fail(.io)
      await bench.maintenance.tidy()
      await bench.maintenance.publishLeftovers()
      let parts = bench.registry.render().split(separator: "\n")
        .filter { $0.hasPrefix("countersign_maintenance_failures_total{") && !$0.hasSuffix(" 0") }
        .compactMap { $0.split(separator: "\"").dropFirst().first }
      #expect(
        parts.sorted() == [
          "end_notes", "publish_leftovers", "purge_counts", "purge_outbox", "purge_records", "purge_replies",
        ])
    }
  }

  @Test func `Each round runs the flows' tasks`() async throws {
    let running = Task { [maintenance = Maintenance(bench.context, interval: .zero)] in await maintenance.run() }
    try await eventually { bench.metric("note_rounds_total") ?? 0 >= 3 }
    running.cancel()
    await running.value
    let rounds = try #require(bench.metric("note_rounds_total"))
    #expect(rounds >= 3)
    #expect(bench.context.health.state == .ok)
  }

  private func add(
    _ count: Int, _ name: String, keptFor time: Duration, _ bench: FlowBench
  ) async throws {
    let now = bench.clock.now()
    _ = try await bench.store.store.transact(at: now) { set throws(StoreError) in
      for number in 0..<count {
        set.count(
          try CounterKey(Array("\(name)\(number)".utf8)), in: now.milliseconds, by: 1, keepUntil: now + time)
      }
    }
  }

  private func counters(_ name: String, _ bench: FlowBench) async throws -> Int {
    try await bench.store.counters(named: Array(name.utf8), since: 0, limit: StoreLimits.maxListedCounters).count
  }

  @Test(arguments: stores)
  func `Counts are deleted as fast as they are made: 800 new subjects a second, each alive for a few`(
    _ kind: StoreUnderTest
  ) async throws {
    let (rate, life, seconds) = (800, 3, 12)
    try await FlowBench.with(kind) { bench in
      for second in 1...seconds {
        try await add(rate, "s\(second).", keptFor: .seconds(life), bench)
        bench.clock.advance(by: .seconds(1))
        await bench.maintenance.tidy()
        #expect(try await counters("s", bench) <= rate * life)
      }
      bench.clock.advance(by: .seconds(life))
      await bench.maintenance.tidy()
      #expect(try await counters("s", bench) == 0)
    }
  }

  @Test(arguments: stores)
  func `A round deletes many rows, but keeps commands waiting no longer than some transactions`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      let most = Maintenance.maxRounds * Maintenance.maxPurgedRows
      try await add(most + 9, "n", keptFor: .zero, bench)
      await bench.maintenance.tidy()
      #expect(try await counters("n", bench) == 9)
      await bench.maintenance.tidy()
      #expect(try await counters("n", bench) == 0)
    }
  }

  @Test(arguments: stores)
  func `A count that is used again stays`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await add(10, "n", keptFor: .seconds(10), bench)
      try await add(5, "n", keptFor: .seconds(20), bench)
      bench.clock.advance(by: .seconds(10))
      await bench.maintenance.tidy()
      #expect(try await counters("n", bench) == 5)
    }
  }

  @Test(arguments: stores)
  func `A record that is never due is deleted when it may be, also unread`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.store.store.put(
        Record(try id("a", RecordKind("other")), body: [9], discardAt: start + .seconds(10)))
      try await bench.store.store.put(Record(try id("b", RecordKind("other")), body: [9]))
      bench.clock.advance(by: .milliseconds(9_999))
      await bench.maintenance.tidy()
      #expect(try await bench.store.store.found(try id("a", RecordKind("other"))) != nil)
      bench.clock.advance(by: .milliseconds(1))
      await bench.maintenance.tidy()
      #expect(try await bench.store.store.found(try id("a", RecordKind("other"))) == nil)
      #expect(try await bench.store.store.found(try id("b", RecordKind("other"))) != nil)
    }
  }

  // MARK: The clock is set

  private func put(_ name: String, _ count: Int, _ bench: FlowBench) async throws {
    try await bench.put([(0..<count).map { "\(name)\($0)" }])
  }

  private func recorded(_ name: String, _ count: Int, _ bench: FlowBench) async throws -> Int {
    await bench.maintenance.tidy()
    return try await bench.recorded((0..<count).map { "\(name)\($0)" })
  }

  @Test(arguments: stores)
  func `A clock that was a day ahead for a minute keeps no other reply from being deleted, and deletes none too early`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      try await put("early", 10, bench)
      bench.clock.advance(by: .seconds(86_400))
      try await put("ahead", 20, bench)
      bench.clock.advance(by: .seconds(60 - 86_400))
      try await put("late", 10, bench)
      #expect(try await recorded("early", 10, bench) == 10)
      bench.clock.advance(by: .seconds(3_541))
      #expect(try await recorded("early", 10, bench) == 0)
      #expect(try await recorded("late", 10, bench) == 10)
      bench.clock.advance(by: .seconds(59))
      #expect(try await recorded("late", 10, bench) == 0)
      // Their time is that of the clock when they were recorded.
      #expect(try await recorded("ahead", 20, bench) == 20)
      bench.clock.advance(by: .seconds(86_400))
      #expect(try await recorded("ahead", 20, bench) == 0)
    }
  }

  @Test(arguments: stores, [60, 3600])
  func `A clock that is set back makes replies live longer by as much, and no longer`(_ kind: StoreUnderTest, step: Int)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      try await put("early", 10, bench)
      bench.clock.advance(by: .seconds(-step))
      try await put("late", 10, bench)
      bench.clock.advance(by: .seconds(3599))
      #expect(try await recorded("late", 10, bench) == 10)
      bench.clock.advance(by: .seconds(step + 1))
      #expect(try await recorded("early", 10, bench) == 0)
      #expect(try await recorded("late", 10, bench) == 0)
    }
  }
}
