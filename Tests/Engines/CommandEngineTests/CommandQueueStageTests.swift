import CountersignAMQP
import CountersignConcurrency
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

// The limit ends a test that hangs; the wait for a turn at PostgreSQL counts.
@Suite("Work before the transaction of a command", .timeLimit(.minutes(10)))
struct CommandQueueStageTests {
  let bench: FlowBench

  init() async throws { bench = try await FlowBench() }

  private final class Door: Sendable {
    private let latch = Latch()
    private let count = Mutex(0)

    /// The number that has come, before it is open.
    var waiting: Int { count.withLock { $0 } }

    func pass() async {
      count.withLock { $0 += 1 }
      await latch.waitIgnoringCancellation()
    }

    func open() { latch.open() }
  }

  private func wait(until condition: () -> Bool) async {
    try? await eventually { condition() }
  }

  @Test(arguments: StoreUnderTest.allCases, [false, true])
  func `It runs beside the batches, and its command is stored and acknowledged after it`(
    _ kind: StoreUnderTest, isRedelivered: Bool
  ) async throws {
    try await FlowBench.with(kind) { bench in
      let door = Door()
      bench.stages.set { _, _ in await door.pass() }
      let source = MemoryMessageSource([
        [
          Delivery(message: try bench.note("slow", .job), isRedelivered: isRedelivered),
          Delivery(message: try bench.note("a")),
        ],
        [Delivery(message: try bench.note("b"))],
      ])
      let pipeline = bench.pipeline(source)
      let running = Task { await pipeline.run() }
      await wait { source.ackedCount == 2 && door.waiting == 1 }
      #expect(try await bench.recorded(["slow", "a", "b"]) == 2)
      door.open()
      await running.value
      #expect(source.ackedCount == 3)
      // Two batches may publish in either order.
      #expect(Set(bench.replies.dropLast().map(\.messageID)) == ["a.reply", "b.reply"])
      #expect(bench.replies.count == 3 && bench.replies.last?.messageID == "slow.reply")
      #expect(bench.jobs.count == 1)
      #expect(try await bench.recorded(["slow"]) == 1)
    }
  }

  @Test func `Few run at once`() async throws {
    let door = Door()
    let most = Mutex((now: 0, most: 0))
    bench.stages.set { _, _ in
      most.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      await door.pass()
      most.withLock { $0.now -= 1 }
    }
    let source = MemoryMessageSource([try (0..<20).map { Delivery(message: try bench.note("slow\($0)")) }])
    let pipeline = bench.pipeline(source)
    let running = Task { await pipeline.run() }
    await wait { door.waiting == CommandStage.Window.general.maxAtOnce }
    for _ in 0..<100 { await Task.yield() }
    #expect(door.waiting == CommandStage.Window.general.maxAtOnce)
    door.open()
    await running.value
    #expect(source.ackedCount == 20)
    #expect(most.withLock { $0.most } <= CommandStage.Window.general.maxAtOnce)
    #expect(bench.metric("notes_stored_total") == 20)
  }

  @Test func `Half of the prefetch may wait for it; what is more is refused at once, and may come again`() async throws
  {
    let door = Door()
    bench.stages.set { _, _ in await door.pass() }
    let source = MemoryMessageSource([try (0..<13).map { Delivery(message: try bench.note("slow\($0)")) }])
    let pipeline = bench.pipeline(source, prefetch: 20)
    let running = Task { await pipeline.run() }
    await wait { source.ackedCount == 3 && door.waiting == CommandStage.Window.general.maxAtOnce }
    let refusals = try bench.replies.map { try ErrorReply(json: $0.body).error }
    #expect(refusals.map(\.reason) == ["BUSY", "BUSY", "BUSY"] && refusals.allSatisfy { $0.retryAfter == 5 })
    door.open()
    await running.value
    #expect(source.ackedCount == 13 && bench.dead.isEmpty)
    #expect(bench.metric("notes_stored_total") == 10)
    // The room is free again.
    await bench.deliver(try bench.note("later"))
    #expect(bench.metric("notes_stored_total") == 11)
  }

  @Test func `Calls of a slow provider leave room for other work, and are refused once a quarter waits`() async throws {
    let door = Door()
    bench.stages.set { text, _ in if text.contains("provider") { await door.pass() } }
    let calls = try (0..<12).map { Delivery(message: try bench.note("slow-provider\($0)")) }
    let others = [Delivery(message: try bench.note("slow")), Delivery(message: try bench.note("a"))]
    let source = MemoryMessageSource([calls, others])
    let pipeline = bench.pipeline(source, prefetch: 40)
    let running = Task { await pipeline.run() }
    await wait { source.ackedCount == 4 && door.waiting == 10 }
    #expect(bench.replies.filter { $0.type == ErrorReply.type.text }.count == 2)
    #expect(try await bench.recorded(["slow", "a"]) == 2)
    door.open()
    await running.value
    #expect(source.ackedCount == 14 && bench.metric("notes_stored_total") == 12)
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `It may use transactions of its own`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      let load = keys(records: [try id("mark", NoteFlow.kind)])
      bench.stages.set { _, access throws(StoreError) in
        try await access.transact(load) { set throws(StoreError) in
          try Note(text: "mark").store(in: &set)
          try set.send(
            OutgoingMessage(
              .optional, to: (Topology.Exchanges.events, "note.marked"), type: MessageType("note.marked"),
              messageID: "marked", correlationID: nil, cause: nil, at: set.now, body: Array("{}".utf8)))
        }
      }
      try await bench.put([["slow"]])
      #expect(bench.events.map(\.messageID) == ["marked"])
      #expect(bench.metric("countersign_outbox_messages") == 0)
      #expect(try await bench.stored("mark") != nil)
      #expect(try await bench.stored("slow") != nil)
    }
  }

  @Test(arguments: [true, false])
  func `What fails, or takes too long, is answered, and the command may be sent again`(takesTooLong: Bool) async throws
  {
    bench.stages.set { _, _ throws(StoreError) in
      if takesTooLong { try? await Task.sleep(for: .seconds(3600)) }
      throw StoreError(.unavailable, "no keys")
    }
    let source = MemoryMessageSource([[Delivery(message: try bench.note("slow"))]])
    bench.stages.longest.withLock { $0 = takesTooLong ? .milliseconds(20) : .seconds(3600) }
    await bench.pipeline(source).run()
    #expect(source.ackedCount == 1)
    #expect(bench.dead.isEmpty)
    let error = try ErrorReply(json: try #require(bench.replies.first).body).error
    #expect(error.code == .internalError && error.retryAfter == 30)
    #expect(bench.logged("takes too long") == (takesTooLong ? 1 : 0))
    #expect(try await bench.recorded(["slow"]) == 0)
    bench.stages.set { _, _ in }
    _ = bench.sink.takePublished()
    await bench.deliver(try bench.note("slow"))
    #expect(bench.replies.map(\.type) == ["note.kept.v1"])
  }

  @Test(arguments: [true, false])
  func `What changes the store, and fails or takes too long, is not said to have changed nothing`(
    takesTooLong: Bool
  ) async throws {
    bench.stages.changesStore.withLock { $0 = true }
    bench.stages.set { _, _ throws(StoreError) in
      if takesTooLong { try? await Task.sleep(for: .seconds(3600)) }
      throw StoreError(.unavailable, "no keys")
    }
    bench.stages.longest.withLock { $0 = takesTooLong ? .milliseconds(20) : .seconds(3600) }
    await bench.deliver(try bench.note("slow"))
    let error = try ErrorReply(json: try #require(bench.replies.first).body).error
    #expect(error.code == .internalError && error.retryAfter == 30 && error.reason == "UNFINISHED")
    #expect(bench.dead.isEmpty)
    #expect(try await bench.recorded(["slow"]) == 0)
  }

  @Test(arguments: [true, false])
  func `What changes the store is not done again for a command that has its answer`(changesStore: Bool) async throws {
    bench.stages.changesStore.withLock { $0 = changesStore }
    let runs = Mutex(0)
    bench.stages.set { _, _ in runs.withLock { $0 += 1 } }
    let message = try bench.note("slow", .job)
    await bench.deliver(message)
    var other = try bench.note("slow-other")
    other.messageID = message.messageID
    await bench.deliver(message)
    await bench.deliver(other)
    #expect(runs.withLock { $0 } == (changesStore ? 1 : 3))
    #expect(bench.replies.map(\.type) == ["note.kept.v1", "note.kept.v1", "error.v1"])
    #expect(bench.metric("notes_stored_total") == 1)
  }

  @Test func `What fails and has no reply address is kept for operators`() async throws {
    bench.stages.set { _, _ throws(StoreError) in throw StoreError(.unavailable, "no keys") }
    var message = try bench.note("slow")
    message.replyTo = nil
    let source = await bench.deliver(message)
    #expect(source.ackedCount == 1)
    #expect(bench.deadReasons == [.string("INTERNAL_ERROR")])
  }

  @Test func `What ends after its time all the same counts`() async throws {
    bench.stages.set { _, _ in try? await Task.sleep(for: .seconds(3600)) }
    let source = MemoryMessageSource([[Delivery(message: try bench.note("slow"))]])
    bench.stages.longest.withLock { $0 = .milliseconds(20) }
    await bench.pipeline(source).run()
    #expect(bench.replies.map(\.type) == ["note.kept.v1"])
    #expect(try await bench.recorded(["slow"]) == 1)
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A process that dies before its transaction repeats the work`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.stages.set { _, access in await access.store.close() }
      let message = try first.note("slow", .job)
      #expect(await first.deliver(message).ackedCount == 0)
      let second = try await begin()
      #expect(await second.deliver(message).ackedCount == 1)
      #expect(second.jobs.count == 1 && second.replies.count == 1)
      #expect(second.metric("notes_stored_total") == 1)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A process that dies after its transaction answers alike, and publishes once`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      let message = try first.note("slow", .job)
      #expect(await first.deliver(message).ackedCount == 0)
      await first.die()
      let second = try await begin()
      second.sink.open()
      #expect(await second.deliver(message).ackedCount == 1)
      #expect(second.replies.map(\.type) == ["note.kept.v1"])
      #expect(second.metric("notes_stored_total") == 0)
      await second.maintenance.publishLeftovers()
      #expect(second.jobs.count == 1)
    }
  }

  @Test func `A process that is to end answers nothing, and stores nothing of work that was cut short`() async throws {
    let isRunning = Mutex(false)
    bench.stages.set { _, _ in
      isRunning.withLock { $0 = true }
      while !Task.isCancelled { await Task.yield() }
    }
    let source = MemoryMessageSource([[Delivery(message: try bench.note("slow"))]])
    let pipeline = bench.pipeline(source)
    let running = Task { await pipeline.run() }
    await wait { isRunning.withLock { $0 } }
    running.cancel()
    await running.value
    #expect(source.ackedCount == 0 && source.rejectedCount == 0)
    #expect(bench.sink.published.isEmpty)
    #expect(try await bench.recorded(["slow"]) == 0)
  }

  @Test func `A command whose transaction finds the store down waits for it`() async throws {
    bench.store.fail(.full, .transact, times: 20)
    #expect(try await bench.put([["slow"]]).ackedCount == 1)
    #expect(bench.metric("notes_stored_total") == 1)
    #expect(bench.context.health.state == .ok)
  }
}
