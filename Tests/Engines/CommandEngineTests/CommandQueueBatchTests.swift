import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

// The limit ends a test that hangs; the wait for a turn at PostgreSQL counts.
@Suite("Batches of commands", .timeLimit(.minutes(10)))
struct CommandQueueBatchTests {
  let bench: FlowBench

  init() async throws { bench = try await FlowBench() }

  /// Makes the first caller wait for the second.
  private final class Meeting: Sendable {
    private let waiting = Mutex<(count: Int, first: CheckedContinuation<Void, Never>?)>((0, nil))

    func wait() async {
      await withCheckedContinuation { continuation in
        let resumed = waiting.withLock { state -> [CheckedContinuation<Void, Never>] in
          state.count += 1
          guard state.count > 1 else {
            state.first = continuation
            return []
          }
          defer { state.first = nil }
          return [continuation] + (state.first.map { [$0] } ?? [])
        }
        for continuation in resumed { continuation.resume() }
      }
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A batch is committed, then published, then acknowledged`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      let source = MemoryMessageSource([[Delivery(message: try bench.note("a", .job))]])
      let store = bench.store.store
      let seen = Mutex<[String]>([])
      let key = try InboxKey(MessageIdentity(sender: SenderRule.unnamed, messageID: "a").key)
      bench.sink.pauseBatches {
        let entry = try? await store.read(keys(messages: [key]), at: start).message(key)
        seen.withLock { $0.append("\(entry?.state != nil) \(source.ackedCount)") }
      }
      await bench.pipeline(source).run()
      #expect(seen.withLock { $0 } == ["true 0"])
      #expect(bench.sink.published.map(\.routingKey) == ["sms.dispatch", "amq.gen-replies"])
      #expect(source.ackedCount == 1)
    }
  }

  @Test func `A batch that the broker has back is not waited for, and the next one is taken`() async throws {
    let source = MemoryMessageSource()
    source.deliver(Delivery(message: try bench.note("a", .job)))
    let isLost = Mutex(false)
    // As when the process has stepped aside.
    bench.store.fail(.unavailable, .transact) {
      source.loseConnection()
      isLost.withLock { $0 = true }
    }
    let pipeline = bench.pipeline(source)
    let running = Task { await pipeline.run() }
    while !isLost.withLock({ $0 }) { await Task.yield() }
    bench.store.recover()
    source.deliver(Delivery(message: try bench.note("b")))
    while source.ackedCount == 0 { await Task.yield() }
    await pipeline.stop()
    await running.value
    #expect(try await bench.recorded(["a"]) == 0 && bench.jobs.isEmpty)
    #expect(try await bench.recorded(["b"]) == 1)
    #expect(bench.context.health.state == .ok)
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A batch that cannot be published is not acknowledged`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      bench.sink.close()
      let source = try await bench.put([["a", "b"]])
      #expect(source.ackedCount == 0 && source.rejectedCount == 0)
      #expect(try await bench.recorded(["a", "b"]) == 2)
    }
  }

  @Test func `A batch is worked on while the one before is being published`() async throws {
    let meeting = Meeting()
    bench.sink.pauseBatches { await meeting.wait() }
    #expect(try await bench.put([["a"], ["b"]]).ackedCount == 2)
  }

  // MARK: Faults of a message

  @Test(arguments: StoreUnderTest.allCases)
  func `A command that cannot be stored does not hold back its batch`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      let source = try await bench.put([["a", "poison", "b", "c"]])
      #expect(source.ackedCount == 4)
      #expect(try await bench.recorded(["a", "b", "c"]) == 3)
      #expect(try await bench.recorded(["poison"]) == 0)
      #expect(bench.deadReasons == ["INTERNAL_ERROR"])
      #expect(bench.dead.first?.messageID == "poison")
      #expect(try bench.dead.first?.body == bench.note("poison").body)
      let refusal = try #require(bench.replies.first { $0.correlationID == bench.dead.first?.correlationID })
      #expect(try ErrorReply(json: refusal.body).error.retryAfter == 30)
      #expect(bench.replies.count == 4)
      #expect(bench.metric("notes_stored_total") == 3)
    }
  }

  @Test(arguments: ["mistake", "longKey", "no ID"])
  func `A mistake that only one command meets is that command's`(_ text: String) async throws {
    let source = try await bench.put([["a", text, "b"]])
    #expect(source.ackedCount == 3)
    #expect(try await bench.recorded(["a", text, "b"]) == 2)
    #expect(bench.dead.map(\.messageID) == [text])
    #expect(bench.context.health.state == .ok)
  }

  @Test(arguments: [["misuse"], ["a", "misuse"]])
  func `A mistake of the program gives the command up at once, alone or in a batch`(_ texts: [String]) async throws {
    let source = try await bench.put([texts, ["b"]])
    #expect(source.ackedCount == texts.count + 1)
    #expect(bench.dead.map(\.messageID) == ["misuse"])
    #expect(try await bench.recorded(["a", "b"]) == texts.count)
    #expect(bench.store.calls.count { $0 == .probe } == 0)
    #expect(bench.logged("cannot be stored and is tried again") == 0)
    #expect(bench.context.health.state == .ok)
  }

  @Test func `A mistake that lasts is the command's when the store takes others`() async throws {
    let source = await bench.deliver(batches: [
      [try bench.note("mistake", id: "1")], [try bench.note("mistake", id: "2"), try bench.note("mistake", id: "3")],
      [try bench.note("a")],
    ])
    #expect(source.ackedCount == 4)
    #expect(bench.dead.map(\.messageID) == ["1", "2", "3"])
    #expect(try await bench.recorded(["1", "2", "3", "a"]) == 1)
    #expect(bench.store.calls.count { $0 == .probe } == 2)
    #expect(bench.context.health.state == .ok)
  }

  @Test func `Only what was stored proves that the store works: what needs no transaction condemns nobody`()
    async throws
  {
    bench.store.fail(.statement, .transact, times: 8)
    let source = await bench.deliver(
      try bench.note("a"), try bench.note(""), try bench.message(LookAtNote(text: "a")))
    #expect(source.ackedCount == 3)
    #expect(bench.dead.isEmpty)
    #expect(try await bench.recorded(["a"]) == 1)
    let looked = try #require(bench.replies.first { $0.type == "note.kept.v1" && $0.correlationID == "c3" })
    #expect(try NoteKept(json: looked.body).text == "a")
  }

  @Test(
    arguments: [
      (["a", "poison", "b"], 0, 2), (["a", "b", "c"], 2, 3), (["a"], 1, 1), ([""], 0, 0),
    ])
  func `A command counts once when it is stored, however often its batch was undone`(
    texts: [String], failures: Int, expected: Double
  ) async throws {
    if failures > 0 { bench.store.fail(.busy, .transact, times: failures) }
    try await bench.put([texts])
    #expect(bench.metric("notes_stored_total") ?? 0 == expected)
  }

  @Test func `A batch that another writer overtook is read again, and counts once`() async throws {
    bench.store.meetConflicts(1)
    #expect(try await bench.put([["a"]]).ackedCount == 1)
    #expect(try await bench.recorded(["a"]) == 1)
    #expect(bench.dead.isEmpty)
    #expect(bench.metric("notes_stored_total") == 1)
    #expect(bench.replies.map(\.type) == ["note.kept.v1"])
  }

  // MARK: Faults of the store

  @Test(
    arguments: [
      StoreError.Code.busy, .overloaded, .full, .io, .damaged, .readOnly, .unavailable, .statement, .notLoaded,
      .conflict,
    ])
  func `A store that fails whatever the message waits, gives nobody up, and counts nothing until it takes the batch`(
    code: StoreError.Code
  ) async throws {
    bench.store.fail(code, .transact, times: 20) { [registry = bench.registry] in
      #expect(registry.render().contains("notes_stored_total 0\n"))
    }
    let source = try await bench.put([["a", "b"], ["c"]])
    #expect(source.ackedCount == 3)
    #expect(bench.dead.isEmpty)
    #expect(try await bench.recorded(["a", "b", "c"]) == 3)
    #expect(bench.metric("notes_stored_total") == 3)
    #expect(bench.context.health.state == .ok)
    // An outage of the store is two lines, however long it lasts.
    if StoreError(code, "").isOutage {
      #expect(bench.logged("takes no writes") == 1 && bench.logged("takes writes again") == 1)
      #expect(bench.logs.events.count { $0.level == .error } == 1)
    } else {
      #expect(bench.logged("cannot be stored and is tried again") > 0)
    }
  }

  @Test func `A store that fails while its batch is taken apart gives nobody up`() async throws {
    bench.store.fail(.statement, .transact, times: 2)
    bench.store.fail(.full, .transact, times: 1)
    #expect(try await bench.put([["a", "b", "c"]]).ackedCount == 3)
    #expect(bench.dead.isEmpty)
    #expect(bench.metric("notes_stored_total") == 3)
  }

  /// Runs a pipeline on a store that fails forever, until a condition holds.
  private func run(
    _ batches: [[String]], _ bench: FlowBench, until condition: () -> Bool
  ) async throws -> MemoryMessageSource {
    let source = MemoryMessageSource(try batches.map { try $0.map { Delivery(message: try bench.note($0)) } })
    let pipeline = bench.pipeline(source)
    let running = Task { await pipeline.run() }
    try await eventually { condition() }
    running.cancel()
    await running.value
    return source
  }

  @Test func `No number of tries makes a dead letter while the store takes nothing`() async throws {
    bench.store.fail(.statement, .transact, .probe)
    let rounds = BatchCommit<CommandQueue>.maxDoubtfulAttempts * 2
    let source = try await run([["a"]], bench) { bench.store.calls.count { $0 == .transact } >= rounds }
    #expect(source.ackedCount == 0)
    #expect(bench.sink.published.isEmpty)
  }

  @Test(arguments: [StoreError.Code.readOnly, .damaged])
  func `A store that takes no writes stops the queue: nothing is acknowledged, nothing becomes a dead letter`(
    code: StoreError.Code
  ) async throws {
    bench.store.fail(code)
    let source = try await run([["a"], ["b", "c"]], bench) { bench.context.health.state != .ok }
    guard case .failing(let what, _) = bench.context.health.state else {
      Issue.record("readiness says that all is well")
      return
    }
    #expect(what.contains("coordinator.commands") && what.contains("\(code)"))
    #expect(source.ackedCount == 0 && source.rejectedCount == 0)
    #expect(bench.sink.published.isEmpty)
    #expect(bench.context.health.keepsCommandsWaiting(orEnding: NoteFlow.part))
  }

  @Test(arguments: ["DROP TABLE store_inbox", "PRAGMA query_only = ON"])
  func `A file without a table, or that cannot be written, stops the queue`(_ fault: String) async throws {
    try await StoreUnderTest.withFile { path in
      let database = try await Database.open(
        path: path, options: DatabaseOptions(synchronous: .normal),
        migrations: [Migration(version: 1, sql: StoreSchema.sql)])
      let bench = FlowBench(try await SQLiteStore(in: database))
      try await database.write { session throws(StoreError) -> Void in try session.execute(fault) }
      let rounds = BatchCommit<CommandQueue>.maxDoubtfulAttempts * 2
      let source = try await run([["a"], ["b"]], bench) { bench.store.calls.count { $0 == .transact } >= rounds }
      #expect(source.ackedCount == 0)
      #expect(bench.sink.published.isEmpty)
      #expect(bench.context.health.state != .ok)
      await database.close()
      await bench.die()
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A store that was closed ends the queue, and nothing is acknowledged`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.store.close()
      let source = await bench.deliver(try bench.note("a"), try bench.message(LookAtNote(text: "a")))
      #expect(source.ackedCount == 0 && source.rejectedCount == 0)
      #expect(bench.sink.published.isEmpty)
    }
  }

  @Test func `A look that the store refuses is answered at once, and keeps nothing of its batch`() async throws {
    bench.store.fail(.damaged, .read, times: 1)
    let look = LookAtNote(text: "a")
    let source = await bench.deliver(batches: [
      [try bench.message(look, id: "l"), try bench.note("a"), try bench.message(look, id: "m")],
      [try bench.note("b")],
    ])
    #expect(source.ackedCount == 4)
    #expect(try await bench.recorded(["a", "b"]) == 2)
    #expect(bench.dead.isEmpty)
    let errors = bench.replies.filter { $0.type == "error.v1" }
    #expect(errors.count == 2)
    #expect(try errors.allSatisfy { try ErrorReply(json: $0.body).error.retryAfter == 30 })
    #expect(bench.context.health.state == .ok)
  }

  @Test(arguments: StoreUnderTest.allCases, ["b", "mistake"])
  func `A look that fails keeps no other look`(_ kind: StoreUnderTest, _ text: String) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["a"]])
      try await bench.store.store.put(Record(try id("b", NoteFlow.kind), body: [9]))
      _ = bench.sink.takePublished()
      let source = await bench.deliver(
        try bench.message(LookAtNote(text: text)), try bench.message(LookAtNote(text: "a")),
        try bench.message(LookAtNote(text: "c")))
      #expect(source.ackedCount == 3)
      #expect(bench.replies.map(\.type) == ["error.v1", "note.kept.v1", "note.kept.v1"])
      #expect(try bench.replies.dropFirst().map { try NoteKept(json: $0.body).text } == ["a", "none"])
      #expect(bench.dead.isEmpty)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A look writes nothing, and sees all that came before it in its batch`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.deliver(try bench.message(LookAtNote(text: "a"), id: "l"), try bench.note("a"))
      #expect(try bench.replies.map { try NoteKept(json: $0.body).text } == ["a", "a"])
      #expect(try await bench.recorded(["l"]) == 0)
      let before = bench.store.calls.count
      _ = try await bench.ask(LookAtNote(text: "a"))
      #expect(bench.store.calls.dropFirst(before) == [.read])
    }
  }
}
