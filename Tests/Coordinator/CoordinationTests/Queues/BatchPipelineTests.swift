import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Coordination

/// Carries out nothing: the body of a message says what happens to it.
private struct ScriptedWork: BatchQueue {
  typealias Prepared = String

  let queue = "coordinator.commands"
  func sender(of message: Message) -> String { SenderRule.unnamed }
  let failures = Tick(0)
  /// The store's answer to everything, for a number of tries.
  var fault: (code: DatabaseError.Code, tries: Int)?

  func prepare(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<String> {
    let body = String(decoding: delivery.message.body, as: UTF8.self)
    if body == "done" { return .done(.nothing) }
    return body.hasPrefix("look") ? .look(body) : .transaction(body)
  }

  func process(_ prepared: String, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Conclusion {
    transaction.counts.refusals.append(.total)
    if let fault, failures.add(1) <= fault.tries { throw DatabaseError(fault.code, "no store") }
    if prepared == "mistake" { throw DatabaseError(.sql, "no such table") }
    if prepared == "look: broken" { throw DatabaseError(.corrupt, "no reader") }
    if prepared == "look" { return .nothing }
    if prepared == "poison" { throw DatabaseError(.constraint, "poison") }
    if prepared == "meanwhile", failures.add(1) < 2 { throw DatabaseError(.uniqueConstraint, "meanwhile") }
    if prepared == "busy", failures.add(1) < 3 { throw DatabaseError(.busy, "busy") }
    try transaction.record(RecordedReply(fingerprint: [], type: "t.v1", body: []), toMessage: prepared)
    return .nothing
  }

  func giveUp(_ prepared: String, at now: UnixTime) -> Conclusion {
    let reply = ReplyMaker.reply(
      CommandAnswer(.notStored), to: "amq.gen-replies", messageID: prepared, correlationID: nil, trace: nil, at: now)
    return Conclusion(
      reply: prepared.hasPrefix("look") ? reply : nil, dead: DeadReason(code: "INTERNAL_ERROR", text: "given up"))
  }

  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion { Conclusion(dead: .crashed) }
}

/// A counter that can be a property of a struct.
private final class Tick: Sendable {
  private let value: Mutex<Int>

  init(_ value: Int) { self.value = Mutex(value) }

  func add(_ amount: Int) -> Int {
    value.withLock { value in
      value += amount
      return value
    }
  }
}

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

@Suite("Batches")
struct BatchPipelineTests {
  @Test(
    "A command counts once when it is stored, however often its batch was undone",
    arguments: [
      (["a", "poison", "b"], 2), (["a", "busy", "b"], 3), (["meanwhile"], 1), (["done"], 0),
    ])
  func aCommandCountsOnceWhenItIsStored(bodies: [String], expected: Int) async throws {
    try await Bench.with { bench in
      _ = await run([bodies], bench)
      #expect(bench.registry.render().contains("countersign_limited_total{limit=\"total\"} \(expected)\n"))
    }
  }

  @Test("A store that fails for a while counts nothing until it takes the batch")
  func aStoreThatFailsForAWhileCountsNothingUntilItTakesTheBatch() async throws {
    try await Bench.with { bench in
      var work = ScriptedWork()
      work.fault = (.diskFull, 20)
      _ = await run([["a", "b"]], bench, work: work)
      #expect(bench.registry.render().contains("countersign_limited_total{limit=\"total\"} 2\n"))
    }
  }

  private func run(
    _ bodies: [[String]], _ bench: Bench, work: ScriptedWork = ScriptedWork(),
    database: Database? = nil
  ) async -> MemoryMessageSource {
    let (source, pipeline) = make(bodies, bench, work: work, database: database)
    await pipeline.run()
    return source
  }

  private func make(
    _ bodies: [[String]], _ bench: Bench, work: ScriptedWork = ScriptedWork(),
    database: Database? = nil
  ) -> (MemoryMessageSource, BatchPipeline<ScriptedWork>) {
    let source = MemoryMessageSource(bodies.map { $0.map { Delivery(message: Message(body: Array($0.utf8))) } })
    let pipeline = BatchPipeline(
      source: source, work: work, bench.context(database: database, held: nil), retryDelays: .zero...(.zero))
    return (source, pipeline)
  }

  @Test("A command that cannot be stored does not hold back its batch")
  func aCommandThatCannotBeStoredDoesNotHoldBackItsBatch() async throws {
    try await Bench.with { bench in
      let source = await run([["a", "poison", "b", "c"]], bench)
      #expect(source.ackedCount == 4)
      let stored = try await bench.count("inbox")
      #expect(stored == 3)
      #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.dead])
      let dead = try #require(bench.sink.published.first).message
      #expect(dead.headers["x-dead-reason"] == .string("INTERNAL_ERROR"))
      #expect(dead.body == Array("poison".utf8))
    }
  }

  @Test("Rows inserted by another process meanwhile are read again, once")
  func insertedMeanwhile() async throws {
    try await Bench.with { bench in
      #expect(await run([["meanwhile"]], bench).ackedCount == 1)
      let stored = try await bench.count("inbox")
      #expect(stored == 1)
      #expect(bench.sink.published.isEmpty)
    }
  }

  @Test("A database that is busy is tried again until it takes the batch")
  func aDatabaseThatIsBusyIsTriedAgainUntilItTakesTheBatch() async throws {
    try await Bench.with { bench in
      let source = await run([["a", "busy", "b"]], bench)
      #expect(source.ackedCount == 3)
      #expect(source.rejectedCount == 0)
      let stored = try await bench.count("inbox")
      #expect(stored == 3)
      let errors = bench.logs.events.filter { $0.level == .error }
      #expect(errors.count == 2)
      #expect(bench.health.state == .ok)
    }
  }

  // MARK: Faults of the store

  @Test(
    "A store that fails whatever the message waits, and gives nobody up",
    arguments: [
      DatabaseError.Code.corrupt, .readOnly, .notADatabase, .cannotOpen, .notPermitted, .sql, .misuse, .diskFull, .io,
    ])
  func aStoreThatFailsWhateverTheMessageWaitsAndGivesNobodyUp(code: DatabaseError.Code) async throws {
    try await Bench.with { bench in
      let source = await run([["a", "b"], ["c"]], bench, work: ScriptedWork(fault: (code, 20)))
      #expect(source.ackedCount == 3)
      #expect(bench.sink.published.isEmpty)
      let stored = try await bench.count("inbox")
      #expect(stored == 3)
      #expect(bench.health.state == .ok)
      #expect(bench.logs.events.contains { "\($0.message)".contains("cannot be stored and is tried again") })
    }
  }

  @Test("A statement that only one message's work fails at is that message's")
  func aStatementThatOnlyOneMessagesWorkFailsAtIsThatMessages() async throws {
    try await Bench.with { bench in
      let source = await run([["a", "mistake", "b"]], bench)
      #expect(source.ackedCount == 3)
      let stored = try await bench.count("inbox")
      #expect(stored == 2)
      #expect(bench.sink.published.map(\.message.body) == [Array("mistake".utf8)])
    }
  }

  @Test("Only what was stored proves that the store works: what needs no transaction condemns nobody")
  func onlyWhatWasStoredProvesThatTheStoreWorksWhatNeeds() async throws {
    try await Bench.with { bench in
      let source = await run([["a", "done", "look"]], bench, work: ScriptedWork(fault: (.sql, 8)))
      #expect(source.ackedCount == 3)
      #expect(bench.sink.published.isEmpty)
      let stored = try await bench.count("inbox")
      #expect(stored == 1)
    }
  }

  @Test("A statement that fails for ever is the message's when the store takes others", .timeLimit(.minutes(1)))
  func aStatementThatFailsForEverIsTheMessagesWhenTheStoreTakes() async throws {
    try await Bench.with { bench in
      let source = await run([["mistake"], ["mistake", "mistake"], ["a"]], bench)
      #expect(source.ackedCount == 4)
      #expect(bench.sink.published.map(\.message.body) == Array(repeating: Array("mistake".utf8), count: 3))
      let inbox = try await bench.dump("inbox")
      #expect(inbox.contains("|a|") && !inbox.contains("probe"))
      #expect(bench.health.state == .ok)
    }
  }

  @Test("A table that is missing stops it: no number of tries makes a dead letter", .timeLimit(.minutes(1)))
  func aTableThatIsMissingStopsItNoNumberOfTriesMakesADeadLetter() async throws {
    try await Bench.with { bench in
      try await bench.run("DROP TABLE inbox")
      let (source, pipeline) = make([["a"]], bench)
      let running = Task { await pipeline.run() }
      let rounds = BatchCommit<ScriptedWork>.maxDoubtfulRounds * 2
      while bench.logs.events.filter({ "\($0.message)".contains("tried again") }).count < rounds { await Task.yield() }
      running.cancel()
      await running.value
      #expect(source.ackedCount == 0)
      #expect(bench.sink.published.isEmpty)
    }
  }

  @Test(
    "A file that cannot be written stops it: nothing is acknowledged, nothing becomes a dead letter",
    .timeLimit(.minutes(1)))
  func aFileThatCannotBeWrittenStopsItNothingIsAcknowledgedNothing() async throws {
    try await Bench.with { bench in
      try await Self.pragma("query_only = ON", bench.database)
      let (source, pipeline) = make([["a"], ["b", "c"]], bench)
      let running = Task { await pipeline.run() }
      let problem = await Self.problem(of: bench.health)
      #expect(problem.contains("readOnly"))
      #expect(bench.sink.published.isEmpty)
      running.cancel()
      await running.value
      #expect(source.ackedCount == 0)
      #expect(source.rejectedCount == 0)
      #expect(bench.sink.published.isEmpty)
    }
  }

  @Test(
    "A file that is damaged stops it: nothing is acknowledged, nothing becomes a dead letter", .timeLimit(.minutes(1)))
  func aFileThatIsDamagedStopsItNothingIsAcknowledgedNothingBecomes() async throws {
    try await Bench.with { bench in
      try await DamagedFile.with { damaged in
        let (source, pipeline) = make([["a", "b"], ["c"]], bench, database: damaged)
        let running = Task { await pipeline.run() }
        let problem = await Self.problem(of: bench.health)
        #expect(problem.contains("is damaged"))
        running.cancel()
        await running.value
        #expect(source.ackedCount == 0)
        #expect(source.rejectedCount == 0)
        #expect(bench.sink.published.isEmpty)
      }
    }
  }

  private static func pragma(_ text: String, _ database: Database) async throws {
    try await database.write { session throws(DatabaseError) -> Void in try session.execute("PRAGMA \(text)") }
  }

  /// Waits until readiness tells of one.
  private static func problem(of health: StorageHealth) async -> String {
    while !Task.isCancelled {
      if case .failing(let what, _) = health.state { return what }
      await Task.yield()
    }
    return ""
  }

  @Test("A look that the store refuses is answered at once, and keeps nothing of its batch", .timeLimit(.minutes(1)))
  func aLookThatTheStoreRefusesIsAnsweredAtOnceAndKeepsNothing() async throws {
    try await Bench.with { bench in
      let source = await run([["look", "a", "look: broken"], ["b"]], bench)
      #expect(source.ackedCount == 4)
      #expect(try await bench.count("inbox") == 2)
      #expect(bench.sink.published.map(\.routingKey) == ["amq.gen-replies", "amq.gen-replies"])
      let reply = try #require(bench.sink.published.first).message
      #expect(try ErrorReply(json: reply.body).error.retryAfter == 30)
      #expect(bench.health.state == .ok)
    }
  }

  @Test("A database that was closed ends it, and nothing is acknowledged")
  func aDatabaseThatWasClosedEndsItAndNothingIsAcknowledged() async throws {
    try await Bench.with { bench in
      await bench.database.close()
      let source = await run([["a", "b"]], bench)
      #expect(source.ackedCount == 0)
      #expect(source.rejectedCount == 0)
    }
  }

  @Test("A batch is worked on while the one before is being published", .timeLimit(.minutes(1)))
  func aBatchIsWorkedOnWhileTheOneBeforeIsBeingPublished() async throws {
    try await Bench.with { bench in
      let meeting = Meeting()
      bench.sink.pauseBatches { await meeting.wait() }
      let source = await run([["poison"], ["poison"]], bench)
      #expect(source.ackedCount == 2)
    }
  }
}
