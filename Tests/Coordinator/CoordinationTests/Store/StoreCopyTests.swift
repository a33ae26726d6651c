import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite(.onSharedServer) struct StoreCopyTests {
  private func ask(_ command: some Command, id: String? = nil, _ bench: Bench, _ store: any Store) async throws
    -> Message
  {
    let engine = EngineContext(
      bench.flows().registry, store: store, rules: bench.rules.engine, sink: bench.sink, author: Bench.author,
      clock: bench.clock, metrics: bench.engineMetrics, logger: Logger(label: "test", sink: bench.logs))
    _ = bench.sink.takePublished()
    let source = MemoryMessageSource([[Delivery(message: try bench.message(command, id: id))]])
    await engine.commandPipeline(source).run()
    return try #require(bench.sink.published.first { $0.exchange.isEmpty }?.message)
  }

  @Test func `Coordinators go on with live codes, replies, limits and messages, on PostgreSQL and back in a file`()
    async throws
  {
    let endpoint = try await PrivatePostgreSQL.shared.storeDatabase()
    let server = StoreCopy.Place.database(endpoint, .patient)
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 })
    let start = StartVerification(phoneNumber: Bench.number, app: Bench.app)
    let reply = try await bench.ask(start, id: "same")
    let started = try VerificationStarted(json: reply.body)
    let code = try #require(try bench.jobs().first?.code)
    let left = OutboxMessage(type: "a.job.v1", content: [1, 2, 3], discardAt: bench.clock.now() + .seconds(60))
    _ = try await bench.store.transact(at: bench.clock.now()) { set throws(StoreError) -> Void in
      try set.send(left)
    }
    // As the coordinator does when it ends: what it had published is not carried along.
    await bench.maintenance.end()
    let parts = try await StoreCopy(from: .file(bench.database.path), to: server).run { _ in }
    #expect(parts.last == StoreCopy.Part(table: "store_outbox", rows: 1, all: 1))
    let store = try await PostgreSQLStore.open(endpoint)
    #expect(try await ask(start, id: "same", bench, store).body == reply.body)
    let next = try await ask(start, bench, store)
    #expect(try VerificationStarted(json: next.body).verificationID == started.verificationID)
    await store.close()
    let path = bench.database.path + "-back"
    _ = try await StoreCopy(from: server, to: .file(path)).run { _ in }
    let database = try await Database.open(path: path, kind: .coordinator, migrations: ServiceSchema.migrations)
    let file = try await SQLiteStore(in: database)
    let claimed = try await file.claimMessages(limit: 9, at: bench.clock.now())
    #expect(claimed.map(\.message).contains(left))
    #expect(claimed.first { $0.message == left }?.mayBeOut == true, "the process before may have published it")
    let check = CheckVerification(verificationID: started.verificationID, code: SecretField(Secret(code)))
    #expect(try await ask(check, bench, file).type == "verification.approved.v1")
    let refused = try await ask(start, bench, file)
    #expect(try ErrorReply(json: refused.body).error.code == .tooManyAttempts)
    await file.close()
    await database.close()
  }
}
