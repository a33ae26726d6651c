import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import FoundationEssentials
import SQLite
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// Commands that come again after the process has died, and copies of commands that are given up.
@Suite struct CommandQueueCrashTests {
  /// A store of marks whose process dies before it can take a mark back.
  private final class DyingStore: MarkStore {
    private let store: any MarkStore
    private let made = Mutex<[String]>([])

    init(_ store: any MarkStore) { self.store = store }

    var calls: [String] { made.withLock { $0 } }

    func find(_ keys: [MessageKey]) async throws(StoreError) -> [MessageKey: MarkStanding] {
      note("find")
      return try await store.find(keys)
    }

    func write(_ marks: [NewMark], at now: UnixTime) async throws(StoreError) {
      note("write")
      try await store.write(marks, at: now)
    }

    func relax(_ key: MessageKey) async throws(StoreError) { note("relax") }
    func remove(_ keys: [MessageKey]) async throws(StoreError) { note("remove") }
    func giveBack(_ keys: [MessageKey]) async throws(StoreError) { note("giveBack") }
    func release() async throws(StoreError) { note("release") }
    func close() async { note("close") }

    private func note(_ call: String) { made.withLock { $0.append(call) } }
  }

  private static func redelivered(_ message: Message) -> Delivery {
    var message = message
    message.headers["x-delivery-count"] = 4
    return Delivery(message: message, isRedelivered: true)
  }

  private static func with(_ body: (FlowBench, _ path: String) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      try await FlowBench.with { bench in try await body(bench, directory + "/marks.sqlite") }
    }
  }

  private static func open(_ path: String) async throws -> Database {
    try await Database.open(
      path: path, options: DatabaseOptions(synchronous: .normal),
      migrations: [Migration(version: 1, sql: RecordTable.schema)])
  }

  private static func marks(_ store: any MarkStore, _ bench: FlowBench) -> CrashMarks {
    CrashMarks(
      queue: bench.queue, store: store, order: .any(stepsAtOnce: 1), gate: TrialGate(), clock: bench.clock,
      logger: Logger(label: "test", sink: bench.logs), metrics: bench.registry)
  }

  /// Leaves marks as processes do that die while they work on a message.
  ///
  /// Each has a database of its own: once it is closed, nothing holds the lock of its owner, as after the end of a
  /// process.
  private static func die(of delivery: Delivery, times: Int, _ path: String, _ bench: FlowBench) async throws {
    for time in 0...times {
      let database = try await open(path)
      let marks = marks(DyingStore(try RecordMarks(RecordTable(in: database))), bench)
      await withTaskGroup(of: Void.self) { group in
        await marks.admit([delivery], spawn: { work in group.addTask { await work() } }) { step in
          #expect(step.treatment == (time == 0 ? .group : .alone))
          return []
        }
      }
      await database.close()
    }
  }

  private static func deliver(
    _ deliveries: [Delivery], marks: CrashMarks, _ bench: FlowBench
  ) async -> MemoryMessageSource {
    let source = MemoryMessageSource([deliveries])
    await bench.pipeline(source, marks: marks).run()
    return source
  }

  @Test func `A command that three processes died of is buried unread and answered, and the others are carried out`()
    async throws
  {
    try await Self.with { bench, path in
      let culprit = Self.redelivered(try bench.note("culprit"))
      let innocent = Self.redelivered(try bench.note("innocent"))
      try await Self.die(of: culprit, times: 3, path, bench)
      let database = try await Self.open(path)
      let source = await Self.deliver(
        [culprit, innocent], marks: Self.marks(try RecordMarks(RecordTable(in: database)), bench), bench)
      #expect(source.ackedCount == 2)
      #expect(bench.dead.map(\.messageID) == ["culprit"])
      #expect(bench.deadReasons == ["CRASHED"])
      #expect(bench.replies.map(\.type) == ["error.v1", "note.kept.v1"])
      let error = try ErrorReply(json: try #require(bench.replies.first).body).error
      #expect(error.code == .internalError && error.reason == "CRASHED")
      #expect(bench.replies.first?.correlationID == culprit.message.correlationID)
      #expect(try await bench.stored("culprit") == nil)
      #expect(try await bench.stored("innocent") != nil)
      // Settled messages leave no mark.
      let marks = try await database.read { session throws(StoreError) in
        try session.first("SELECT count(*) FROM record") { row throws(StoreError) in row.int(0) }
      }
      #expect(marks == 0)
      await database.close()
    }
  }

  @Test func `Two deaths are not enough`() async throws {
    try await Self.with { bench, path in
      let suspect = Self.redelivered(try bench.note("a"))
      try await Self.die(of: suspect, times: 2, path, bench)
      let database = try await Self.open(path)
      _ = await Self.deliver([suspect], marks: Self.marks(try RecordMarks(RecordTable(in: database)), bench), bench)
      #expect(bench.dead.isEmpty)
      #expect(try await bench.stored("a") != nil)
      await database.close()
    }
  }

  @Test func `First deliveries are neither looked up nor marked`() async throws {
    try await Self.with { bench, path in
      let database = try await Self.open(path)
      let store = DyingStore(try RecordMarks(RecordTable(in: database)))
      let deliveries = try (0..<20).map { Delivery(message: try bench.note("n\($0)")) }
      _ = await Self.deliver(deliveries, marks: Self.marks(store, bench), bench)
      #expect(bench.metric("notes_stored_total") == 20)
      #expect(store.calls == ["release", "close"])
      await database.close()
    }
  }

  @Test(arguments: ["a", "slow"])
  func `A redelivered command that is not settled keeps its mark`(_ text: String) async throws {
    try await Self.with { bench, path in
      let database = try await Self.open(path)
      let store = DyingStore(try RecordMarks(RecordTable(in: database)))
      bench.sink.close()
      let source = await Self.deliver(
        [Self.redelivered(try bench.note(text))], marks: Self.marks(store, bench), bench)
      #expect(source.ackedCount == 0)
      #expect(!store.calls.contains("remove"))
      await database.close()
    }
  }

  // MARK: Dead letters

  /// Adds what a broker or a careless sender may have put on a command, and what its copy must not repeat.
  private static func burden(_ message: inout Message) {
    message.userID = "service"
    message.expiration = "1000"
    message.isPersistent = false
    message.headers["CC"] = .array(["sms.dispatch"])
    message.headers["BCC"] = .array(["push.dispatch"])
    message.headers["x-death"] = .array([.table(["queue": "coordinator.commands", "reason": "rejected", "count": 9])])
    message.headers["x-first-death-queue"] = "coordinator.commands"
    message.headers["x-last-death-queue"] = "coordinator.commands"
    message.headers["x-delivery-count"] = 4
    message.headers["traceparent"] = "kept"
  }

  private static func expectCopy(of message: Message, _ reason: FieldValue, in bench: FlowBench) throws {
    let letters = bench.sink.confirmed.filter { $0.exchange == Topology.Exchanges.dead }
    try #require(letters.count == 1)
    let letter = letters[0].message
    #expect(letters[0].routingKey == bench.queue)
    #expect(letter.body == message.body && letter.messageID == message.messageID)
    #expect(
      Set(letter.headers.keys) == [
        "traceparent", MessageHeader.sender, MessageHeader.deadReason, MessageHeader.deadQueue, MessageHeader.deadAt,
        MessageHeader.lastError,
      ])
    #expect(letter.headers[MessageHeader.deadReason] == reason)
    #expect(letter.headers[MessageHeader.sender] == "service")
    // A copy in the sender's name would be returned by the broker.
    #expect(letter.userID == FlowBench.author.userID)
    #expect(letter.expiration == nil && letter.isPersistent)
  }

  @Test(arguments: [nil, "sms.dispatch"])
  func `A command that is given up is copied once, without the headers that would route it elsewhere or drop it`(
    replyTo: String?
  ) async throws {
    let bench = try await FlowBench()
    var message = try bench.note("a", replyTo: replyTo)
    if replyTo == nil { message.body = Array("no JSON".utf8) }
    Self.burden(&message)
    #expect(await bench.deliver(message).ackedCount == 1)
    try Self.expectCopy(of: message, replyTo == nil ? "INVALID_ARGUMENT" : "INVALID_REPLY_TO", in: bench)
    #expect(bench.sink.published.count == 1, "the reply address is not the sender's")
    #expect(bench.sink.published.first?.message.replyTo == replyTo)
  }

  @Test func `A command that processes died of loses the pseudo-queue of its replies, and is answered there`()
    async throws
  {
    try await Self.with { bench, path in
      var message = try bench.note("a", replyTo: Topology.Queues.directReplyTo)
      Self.burden(&message)
      let delivery = Delivery(message: message, isRedelivered: true)
      try await Self.die(of: delivery, times: 3, path, bench)
      let database = try await Self.open(path)
      _ = await Self.deliver([delivery], marks: Self.marks(try RecordMarks(RecordTable(in: database)), bench), bench)
      try Self.expectCopy(of: message, "CRASHED", in: bench)
      #expect(bench.dead.first?.replyTo == nil)
      #expect(bench.published(on: "").map(\.routingKey) == [Topology.Queues.directReplyTo])
      await database.close()
    }
  }
}
