import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import FoundationEssentials
import PostgreSQL
import SQLite
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination

@Suite("Migration of a coordinator's SQLite database to PostgreSQL", .onSharedServer)
struct DatabaseMigrationTests {
  /// An empty database with the tables.
  private func database() async throws -> PostgreSQLSettings {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let connection = try PostgreSQLConnection(endpoint, options: .patient)
    _ = try await connection.withTransaction { session throws(PostgreSQLError) in
      try session.script("CREATE SCHEMA \(PostgreSQLSchema.name)")
      return try PostgreSQLSchema.update([StoreSchemaPostgreSQL.part, MarkSchemaPostgreSQL.part], session)
    }
    await connection.close()
    return PostgreSQLSettings(endpoint: endpoint)
  }

  private func migration(_ bench: Bench, to settings: PostgreSQLSettings) -> DatabaseMigration {
    DatabaseMigration(
      bench.database.path, to: settings, rules: bench.rules, clock: bench.clock,
      logger: Logger(label: "test", sink: bench.logs))
  }

  /// A coordinator on that store: one command, and its reply.
  private func ask(_ command: some Command, id: String? = nil, _ bench: Bench, _ store: any Store) async throws
    -> Message
  {
    let engine = engine(bench, store)
    _ = bench.sink.takePublished()
    let source = MemoryMessageSource([[Delivery(message: try bench.message(command, id: id))]])
    await engine.commandPipeline(source).run()
    return try #require(bench.sink.published.first { $0.exchange.isEmpty }?.message)
  }

  private func engine(_ bench: Bench, _ store: any Store) -> EngineContext {
    EngineContext(
      bench.flows().registry, store: store, rules: bench.rules.engine, sink: bench.sink, author: Bench.author,
      clock: bench.clock, metrics: bench.engineMetrics, logger: Logger(label: "test", sink: bench.logs))
  }

  private func error(_ body: () async throws -> Void) async -> StartError? {
    await #expect(throws: StartError.self) { try await body() }
  }

  @Test func `Coordinators go on with everything: live codes, replies, limits, messages that were not published`()
    async throws
  {
    let settings = try await database()
    try await Bench.with(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 }) { bench in
      let reply = try await bench.ask(StartVerification(phoneNumber: Bench.number, app: Bench.app), id: "same")
      let started = try VerificationStarted(json: reply.body)
      let code = try #require(try bench.jobs().first?.code)
      let held = OutboxMessage(type: "a.job.v1", content: [1, 2, 3], discardAt: bench.clock.now() + .seconds(60))
      _ = try await bench.store.transact(StoreLoad(), at: bench.clock.now()) { set throws(StoreError) -> Void in
        try set.send(held)
      }
      // As the coordinator does when it ends: what it had published is not carried along.
      await bench.maintenance.end()
      let seen = Mutex<[DatabaseMigration.Progress]>([])
      let outcome = try await migration(bench, to: settings).run { step in seen.withLock { $0.append(step) } }
      #expect(outcome.copied.records >= 1 && outcome.copied.inbox == 1 && outcome.copied.cells > 0)
      #expect(outcome.copied.messages == 1)
      #expect(seen.withLock { $0.last } == .verifying)
      let store = try await PostgreSQLStore.open(settings.endpoint)
      let again = try await ask(
        StartVerification(phoneNumber: Bench.number, app: Bench.app), id: "same", bench, store)
      #expect(again.body == reply.body)
      let next = try await ask(StartVerification(phoneNumber: Bench.number, app: Bench.app), bench, store)
      #expect(try VerificationStarted(json: next.body).verificationID == started.verificationID)
      let claimed = try await store.claimMessages(limit: 9, at: bench.clock.now())
      #expect(claimed.map(\.message) == [held])
      #expect(claimed.map(\.mayBeOut) == [true], "the process before may have published it")
      let approved = try await ask(
        CheckVerification(verificationID: started.verificationID, code: SecretField(Secret(code))), bench, store)
      #expect(approved.type == "verification.approved.v1")
      let refused = try await ask(StartVerification(phoneNumber: Bench.number, app: Bench.app), bench, store)
      #expect(try ErrorReply(json: refused.body).error.code == .tooManyAttempts)
      await store.close()
    }
  }

  @Test func `A look tells what there is, copies nothing, and stumbles over what the migration would`() async throws {
    let settings = try await database()
    try await Bench.with { bench in
      _ = try await bench.start()
      await bench.maintenance.end()
      let first = try await migration(bench, to: settings).preview()
      #expect(first.rows.records >= 1 && first.rows.inbox == 1 && first.earlierTables.isEmpty && !first.isInterrupted)
      #expect(try await migration(bench, to: settings).preview() == first)
      let outcome = try await migration(bench, to: settings).run { _ in }
      #expect(outcome.copied == first.rows)
      let late = await error { _ = try await migration(bench, to: settings).preview() }
      #expect(late?.description.contains("holds a coordinator's data already") == true)
    }
  }

  @Test func `Many pages are copied, and counted on both sides`() async throws {
    let settings = try await database()
    try await Bench.with { bench in
      let (kind, space) = (RecordKind("many"), KeySpace(RecordKind("many"), "group"))
      let count = StoreCopy.pageRows * 2
      _ = try await bench.store.transact(StoreLoad(), at: bench.clock.now()) { set throws(StoreError) -> Void in
        let group = try GroupKey(space, [1])
        for index in 0..<count {
          guard let id = RecordID(kind, "record\(index)") else { continue }
          try set.put(Record(id, body: [UInt8(index & 0xFF)], groupKeys: [group]))
          set.count(try CounterKey(Array("c\(index % 700)".utf8)), in: Int64(index), by: 3, keepUntil: set.now)
        }
      }
      let outcome = try await migration(bench, to: settings).run { _ in }
      #expect(outcome.copied.records >= count && outcome.copied.cells == count)
      #expect(outcome.copied.events == Int64(3 * count))
      let store = try await PostgreSQLStore.open(settings.endpoint)
      #expect(try await store.count(space) == count)
      #expect(try await PostgreSQLArchive(store).counts() == outcome.copied)
      await store.close()
    }
  }

  @Test func `It refuses beside a coordinator on either side`() async throws {
    let settings = try await database()
    try await Bench.with { bench in
      let owner = try #require(try FileOwner.claim(bench.database.path))
      let beside = await error { _ = try await migration(bench, to: settings).run { _ in } }
      #expect(beside?.exitCode == .unavailable)
      #expect(beside?.description.contains("a coordinator has \(bench.database.path)") == true)
      withExtendedLifetime(owner) {}
    }
    try await Bench.with { bench in
      let living = try await PostgreSQLStore.open(settings.endpoint)
      let beside = await error { _ = try await migration(bench, to: settings).run { _ in } }
      #expect(beside?.exitCode == .unavailable)
      #expect(beside?.description.contains("a coordinator uses the database") == true)
      await living.close()
      _ = try await migration(bench, to: settings).run { _ in }
    }
  }

  @Test func `It refuses a database with data, a file that is not there, and tables that are missing`() async throws {
    let settings = try await database()
    try await Bench.with { bench in
      _ = try await bench.start()
      _ = try await migration(bench, to: settings).run { _ in }
      let twice = await error { _ = try await migration(bench, to: settings).run { _ in } }
      #expect(twice?.exitCode == .badInput)
      #expect(twice?.description.contains("holds a coordinator's data already") == true)
      let bare = PostgreSQLSettings(endpoint: try await PrivatePostgreSQL.shared.database())
      let missing = await error { _ = try await migration(bench, to: bare).run { _ in } }
      #expect(missing?.exitCode == .configuration)
      #expect(missing?.description.contains("countersign store create") == true)
    }
    let nowhere = DatabaseMigration(
      "/nowhere/coordinator.sqlite", to: settings, rules: Bench.rules(), clock: ManualClock(),
      logger: Logger(label: "test", sink: MemorySink()))
    let absent = await error { _ = try await nowhere.run { _ in } }
    #expect(absent?.exitCode == .noInput)
  }

  @Test(arguments: ["", String(repeating: "text ", count: 99)])
  func `It refuses a file that is no coordinator's database`(content: String) async throws {
    let directory = FileManager.default.temporaryDirectory.path + "/migration-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // What stays behind does no harm.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/other.sqlite"
    try Data(content.utf8).write(to: URL(filePath: path))
    let migration = DatabaseMigration(
      path, to: try await database(), rules: Bench.rules(), clock: ManualClock(),
      logger: Logger(label: "test", sink: MemorySink()))
    let refused = await error { _ = try await migration.preview() }
    #expect(refused?.exitCode == .badInput)
    #expect(refused?.description.contains("name the database.path of the coordinator") == true)
    #expect(try Data(contentsOf: URL(filePath: path)).count == content.utf8.count, "it is left as it was")
  }

  @Test func `After an interruption no coordinator starts on the part, and the next migration begins anew`()
    async throws
  {
    let settings = try await database()
    try await Bench.with { bench in
      _ = try await bench.start()
      let store = try await PostgreSQLStore.open(settings.endpoint)
      try await StoreCopyMark.set(true, in: store)
      _ = try await store.transact(StoreLoad(), at: bench.clock.now()) { set throws(StoreError) -> Void in
        guard let id = RecordID(RecordKind("half"), "copied") else { return }
        try set.put(Record(id, body: []))
      }
      await store.close()
      let context = ServiceContext(
        name: "coordinator", instance: "coordinator@host/1", logger: Logger(label: "test", sink: bench.logs))
      let storage = try await PostgreSQLStorage.open(settings, context)
      let refused = await error { _ = try await storage.begin { _ in 0 } }
      #expect(refused?.exitCode == .configuration)
      #expect(refused?.description.contains("countersign store migrate") == true)
      await storage.close()
      let seen = Mutex<[DatabaseMigration.Progress]>([])
      let outcome = try await migration(bench, to: settings).run { step in seen.withLock { $0.append(step) } }
      #expect(seen.withLock { $0.first } == .clearing)
      let whole = try await PostgreSQLStore.open(settings.endpoint)
      #expect(try await PostgreSQLArchive(whole).counts() == outcome.copied)
      #expect(try await !StoreCopyMark.isSet(in: whole))
      await whole.close()
    }
  }

  @Test func `Rows of another version are an error, or stay behind`() async throws {
    let settings = try await database()
    try await Bench.with { bench in
      _ = try await bench.start()
      _ = try await bench.start("+14155550177")
      try await bench.run([
        Statement("UPDATE store_record SET format = 9 WHERE number = (SELECT max(number) FROM store_record)", [])
      ])
      let refused = await error { _ = try await migration(bench, to: settings).run { _ in } }
      #expect(refused?.exitCode == .badInput)
      #expect(refused?.description.contains("--leave-unreadable") == true)
      let rows = try await SQLiteArchive(bench.store).counts().records
      let outcome = try await migration(bench, to: settings).run(leavesUnreadable: true) { _ in }
      #expect(outcome.copied.records == rows - 1)
    }
  }
}
