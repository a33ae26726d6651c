import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct OutboxRelayTests {
  private static let stores = StoreUnderTest.allCases
  private static let steps = [-3600, -60, 60, 3600]

  private func takesJobs(_ takes: Bool, _ bench: FlowBench) {
    bench.sink.answer { takes || $0.exchange != Topology.Exchanges.jobs ? .confirmed : .nacked }
  }

  private func isEmpty(_ bench: FlowBench) async throws -> Bool {
    await bench.maintenance.tidy()
    let messages = try await bench.outbox()
    return messages == 0 && bench.metric("countersign_outbox_messages") == 0
  }

  @Test(arguments: stores)
  func `Published messages are deleted with the next batch`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.deliver(try bench.note("a", .job, .event))
      #expect(try await bench.outbox() == 2)
      await bench.deliver(try bench.note("b", .event))
      #expect(try await bench.outbox() == 1)
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores)
  func `A settlement that was not stored goes with the transaction after`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.deliver(try bench.note("a", .job))
      bench.store.fail(.full, .transact, .settle, times: 2)
      await bench.maintenance.tidy()
      #expect(bench.metric(#"countersign_maintenance_failures_total{part="purge_outbox"}"#) == 1)
      #expect(try await bench.outbox() == 1)
      await bench.deliver(try bench.note("b"))
      #expect(try await bench.outbox() == 0)
    }
  }

  @Test(arguments: stores)
  func `At a regular end, what was published is settled`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.deliver(try bench.note("a", .job))
      await bench.maintenance.end()
      #expect(try await bench.outbox() == 0)
      await bench.deliver(try bench.note("b", .job))
      bench.store.fail(.full)
      await bench.maintenance.end()
      #expect(bench.logged("will be published again") == 1)
    }
  }

  @Test(arguments: stores)
  func `Killed between commit and publish: the next start publishes, the command that comes again is answered alike`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      let message = try first.note("a", .job, .event)
      #expect(await first.deliver(message).ackedCount == 0)
      #expect(try await first.outbox() == 2)
      await first.die()
      let second = try await begin()
      #expect(second.metric("countersign_outbox_messages") == 2)
      second.sink.open()
      await second.maintenance.publishLeftovers()
      #expect(second.sink.published.map(\.routingKey) == ["sms.dispatch", "note.expired"])
      #expect(try await isEmpty(second))
      await second.deliver(message)
      #expect(second.jobs.count == 1)
      #expect(second.replies.map(\.type) == ["note.kept.v1"])
    }
  }

  @Test(arguments: stores)
  func `What a living process has in hand is not published by another`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      await first.deliver(try first.note("a", .job))
      let second = try await begin()
      second.sink.open()
      await second.maintenance.publishLeftovers()
      #expect(second.sink.published.isEmpty)
    }
  }

  @Test(arguments: stores)
  func `More leftovers than one claim takes are published in one round, in their order`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      let texts = (0..<600).map { "n\($0)" }
      await first.deliver(batches: [try texts.map { try first.note($0, .job) }])
      await first.die()
      let second = try await begin()
      second.sink.open()
      await second.maintenance.publishLeftovers()
      #expect(second.jobs.map(\.messageID) == texts.map { $0 + ".job" })
      #expect(try await isEmpty(second))
    }
  }

  // MARK: What the broker does not take

  @Test(arguments: stores)
  func `A job that no queue takes is kept and tried again; what was taken is not published twice`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench async throws in
      bench.sink.answer {
        $0.exchange == Topology.Exchanges.jobs ? .returned(code: 312, text: "NO_ROUTE") : .confirmed
      }
      for text in ["a", "b"] {
        #expect(await bench.deliver(try bench.note(text, .job, .event)).ackedCount == 1)
      }
      #expect(bench.logs.events.filter { $0.level == .error }.count == 1)
      #expect(bench.metric("countersign_outbox_messages") == 2)
      #expect(bench.metric("countersign_outbox_undelivered_total") == 2)
      _ = bench.sink.takePublished()
      await bench.maintenance.publishLeftovers()
      #expect(bench.sink.published.isEmpty)
      bench.clock.advance(by: Outbox.retryDelay)
      takesJobs(true, bench)
      await bench.maintenance.publishLeftovers()
      #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.jobs, Topology.Exchanges.jobs])
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores)
  func `A command to another service is kept like a job; an event without a listener is gone`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      bench.sink.answer { $0.exchange.isEmpty ? .confirmed : .returned(code: 312, text: "NO_ROUTE") }
      await bench.deliver(try bench.note("a", .command, .event))
      #expect(bench.metric("countersign_outbox_messages") == 1)
      bench.clock.advance(by: Outbox.retryDelay)
      bench.sink.answer { _ in .confirmed }
      _ = bench.sink.takePublished()
      await bench.maintenance.publishLeftovers()
      let command = try #require(bench.sink.published.first)
      #expect(command.exchange == Topology.Exchanges.commands && command.routingKey == "note.look")
      #expect(command.message.replyTo == Topology.Queues.results && command.message.userID == "coordinator")
      #expect(command.message.headers[MessageHeader.causationID] == "a")
      #expect(try await isEmpty(bench))
    }
  }

  @Test func `A broker that is away is no fault of the store`() async throws {
    let bench = try await FlowBench()
    takesJobs(false, bench)
    await bench.deliver(try bench.note("a", .job))
    bench.clock.advance(by: Outbox.retryDelay)
    bench.sink.close()
    await bench.maintenance.publishLeftovers()
    #expect(bench.metric(#"countersign_maintenance_failures_total{part="publish_leftovers"}"#) == 1)
    #expect(bench.context.health.state == .ok)
  }

  // MARK: Late jobs

  @Test(arguments: stores)
  func `A job that nobody took before its deadline is dropped, and its owner is told`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      takesJobs(false, bench)
      await bench.deliver(try bench.note("a", .job))
      bench.clock.advance(by: NoteFlow.lifetime)
      _ = bench.sink.takePublished()
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.isEmpty)
      #expect(bench.events.map(\.messageID) == ["a.dropped"])
      #expect(bench.events.first?.headers[MessageHeader.causationID] == "a.job")
      #expect(try Note(try #require(try await bench.stored("a"))).word == "dropped")
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores)
  func `A job that may be out is dropped without a word: its result counts`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      await first.deliver(try first.note("a", .job))
      await first.die()
      let second = try await begin()
      second.sink.open()
      takesJobs(false, second)
      // It stays one of the process before, also when it was put off again.
      await second.maintenance.publishLeftovers()
      #expect(second.jobs.count == 1)
      second.clock.advance(by: NoteFlow.lifetime)
      _ = second.sink.takePublished()
      await second.maintenance.publishLeftovers()
      #expect(second.sink.published.isEmpty)
      #expect(try Note(try #require(try await second.stored("a"))).word.isEmpty)
      #expect(try await second.outbox() == 0)
      #expect(second.metric("countersign_outbox_messages") == 0)
    }
  }

  @Test(arguments: stores)
  func `A job that the broker refused before the process died was never out`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      takesJobs(false, first)
      await first.deliver(try first.note("a", .job))
      await first.die()
      let second = try await begin()
      second.clock.advance(by: NoteFlow.lifetime)
      await second.maintenance.publishLeftovers()
      #expect(second.events.map(\.messageID) == ["a.dropped"])
      #expect(try await isEmpty(second))
    }
  }

  @Test(arguments: stores)
  func `A job whose owner cannot be read is dropped, and blocks nothing`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      takesJobs(false, bench)
      await bench.deliver(try bench.note("a", .job), try bench.note("b", .job))
      let broken = try id("a", NoteFlow.kind)
      _ = try await bench.store.store.transact(keys(records: [broken]), at: start) { set throws(StoreError) in
        guard var record = try set.record(broken) else { throw StoreError.unreadableBody }
        (record.body, record.dueAt, record.discardAt, record.uniqueKeys) = ([9], nil, nil, [])
        try set.put(record)
      }
      bench.clock.advance(by: NoteFlow.lifetime)
      await bench.maintenance.publishLeftovers()
      #expect(bench.events.map(\.messageID) == ["b.dropped"])
      #expect(bench.metric(#"countersign_rows_skipped_total{table="outbox"}"#) == 1)
      #expect(try await isEmpty(bench))
    }
  }

  @Test func `A late job stays while the store cannot tell its owner`() async throws {
    let bench = try await FlowBench()
    takesJobs(false, bench)
    await bench.deliver(try bench.note("a", .job))
    bench.clock.advance(by: NoteFlow.lifetime)
    bench.store.fail(.full, .transact, times: 1)
    await bench.maintenance.publishLeftovers()
    #expect(bench.metric(#"countersign_maintenance_failures_total{part="publish_leftovers"}"#) == 1)
    #expect(bench.context.health.state != .ok)
    #expect(try await bench.outbox() == 1)
    // It was given back, and its owner is told with the next attempt.
    bench.clock.advance(by: Outbox.retryDelay)
    await bench.maintenance.publishLeftovers()
    #expect(bench.events.map(\.messageID) == ["a.dropped"])
    #expect(try await isEmpty(bench))
  }

  @Test func `A late job that cannot be dropped keeps no other message`() async throws {
    let bench = try await FlowBench()
    takesJobs(false, bench)
    await bench.deliver(try bench.note("a", .job), try bench.note("b", .job))
    bench.clock.advance(by: NoteFlow.lifetime - .seconds(1))
    await bench.deliver(try bench.note("c", .job))
    takesJobs(true, bench)
    _ = bench.sink.takePublished()
    bench.clock.advance(by: Outbox.retryDelay)
    bench.store.fail(.full, .transact, times: 1)
    await bench.maintenance.publishLeftovers()
    #expect(bench.jobs.count == 1 && bench.events.map(\.messageID) == ["b.dropped"])
    bench.clock.advance(by: Outbox.retryDelay)
    await bench.maintenance.publishLeftovers()
    #expect(bench.events.map(\.messageID) == ["b.dropped", "a.dropped"])
    #expect(try await isEmpty(bench))
  }

  // MARK: Held messages

  @Test(arguments: stores, [true, false])
  func `A held job goes after the reply, also when the requester is gone`(_ kind: StoreUnderTest, isThere: Bool)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      if !isThere { bench.sink.answer { $0.exchange.isEmpty ? .returned(code: 312, text: "NO_ROUTE") : .confirmed } }
      await bench.deliver(try bench.note("a", .heldJob, .event))
      #expect(bench.sink.published.map(\.routingKey) == ["note.expired", "amq.gen-replies", "sms.dispatch"])
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores)
  func `A held job of a process that died goes after the reply to its redelivered command`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      let message = try first.note("a", .heldJob)
      await first.deliver(message)
      await first.die()
      let second = try await begin()
      second.sink.open()
      await second.maintenance.publishLeftovers()
      #expect(second.sink.published.isEmpty)
      await second.deliver(message)
      #expect(second.sink.published.map(\.routingKey) == ["amq.gen-replies", "sms.dispatch"])
      #expect(try await isEmpty(second))
    }
  }

  @Test(arguments: stores, [true, false])
  func `A held job whose command never comes again goes when its hold is over`(_ kind: StoreUnderTest, dies: Bool)
    async throws
  {
    try await FlowBench.several(kind) { begin in
      var bench = try await begin()
      bench.sink.close()
      await bench.deliver(try bench.note("a", .heldJob))
      if dies {
        await bench.die()
        bench = try await begin()
      }
      bench.sink.open()
      bench.clock.advance(by: WorkingSet.longestHold - .milliseconds(1))
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.isEmpty)
      bench.clock.advance(by: .milliseconds(1))
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.count == 1)
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores)
  func `A held job that could not be released goes when its hold is over`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench async throws in
      bench.store.fail(.busy, .release, times: 1)
      #expect(await bench.deliver(try bench.note("a", .heldJob)).ackedCount == 1)
      #expect(bench.jobs.isEmpty && bench.logged("released later") == 1)
      bench.clock.advance(by: WorkingSet.longestHold)
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.count == 1)
    }
  }

  // MARK: Messages of another version

  @Test(arguments: stores)
  func `A message of another version is kept, told of, and keeps nobody`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      await first.deliver(try first.note("a", .unreadable, .job), try first.note("b", .heldUnreadable))
      #expect(first.jobs.count == 1)
      #expect(first.replies.count == 2)
      #expect(first.metric(#"countersign_rows_skipped_total{table="outbox"}"#) == 2)
      guard case .failing(let what, _) = first.context.outbox.health.state else {
        Issue.record("readiness says that all is well")
        return
      }
      #expect(what.contains("2 messages"))
      await first.maintenance.tidy()
      first.clock.advance(by: .seconds(86_400))
      await first.maintenance.publishLeftovers()
      #expect(first.metric(#"countersign_rows_skipped_total{table="outbox"}"#) == 2)
      #expect(try await first.store.figures() == StoreFigures(messages: 2, setAside: 2))
      #expect(first.metric("countersign_outbox_messages") == 2)
      await first.die()
      // The next process tries them again.
      let second = try await begin()
      await second.maintenance.publishLeftovers()
      #expect(second.metric(#"countersign_rows_skipped_total{table="outbox"}"#) == 2)
      #expect(try await second.outbox() == 2)
    }
  }

  // MARK: Messages that cannot be published

  @Test(arguments: stores)
  func `A message that cannot be published is buried; the others of its batch go out, and all is acknowledged`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      let source = await bench.deliver(
        try bench.note("a", .job), try bench.note("b", .tooLong), try bench.note("c", .job))
      #expect(source.ackedCount == 3)
      #expect(bench.jobs.map(\.messageID) == ["a.job", "c.job"])
      #expect(bench.replies.count == 3)
      let dead = try #require(bench.published(on: Topology.Exchanges.dead).first)
      #expect(dead.routingKey == Topology.Queues.commands)
      #expect(dead.message.headers[MessageHeader.deadReason] == "UNPUBLISHABLE")
      #expect(dead.message.messageID == "b.event" && dead.message.type == "note.expired.v1")
      #expect(dead.message.correlationID == nil)
      #expect(bench.metric("countersign_outbox_unpublishable_total") == 1)
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores)
  func `The relay goes on past it: what is behind it is published`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.several(kind) { begin in
      let first = try await begin()
      first.sink.close()
      await first.deliver(try first.note("a", .tooLong), try first.note("b", .job))
      await first.die()
      let second = try await begin()
      second.sink.open()
      await second.maintenance.publishLeftovers()
      #expect(second.jobs.count == 1 && second.dead.count == 1)
      #expect(try await isEmpty(second))
      _ = second.sink.takePublished()
      await second.maintenance.publishLeftovers()
      #expect(second.sink.published.isEmpty)
    }
  }

  @Test(arguments: stores)
  func `A dead letter that the broker does not take leaves the message where it is, and is tried again`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      bench.sink.answer { $0.exchange == Topology.Exchanges.dead ? .nacked : .confirmed }
      await bench.deliver(try bench.note("a", .tooLong))
      #expect(try await bench.outbox() == 1)
      bench.sink.answer { _ in .confirmed }
      bench.clock.advance(by: Outbox.retryDelay)
      await bench.maintenance.publishLeftovers()
      #expect(bench.metric("countersign_outbox_unpublishable_total") == 1)
      #expect(try await isEmpty(bench))
    }
  }

  @Test func `Readiness and the log tell of it, for a while`() async throws {
    let bench = try await FlowBench()
    #expect(bench.context.outbox.health.state == .ok)
    await bench.deliver(try bench.note("a", .tooLong))
    guard case .failing(let what, _) = bench.context.outbox.health.state else {
      Issue.record("the outbox says that all is well")
      return
    }
    #expect(what.contains("correlation ID"))
    #expect(bench.logged("cannot be published") == 1)
    bench.clock.advance(by: OutboxHealth.memory)
    #expect(bench.context.outbox.health.state == .ok)
  }

  @Test func `What cannot be buried either is dropped`() async throws {
    let sink = MemoryMessageSink(user: FlowBench.author.userID, maxBodyBytes: 1)
    try await StoreUnderTest.sqlite.withStore { store async throws in
      let bench = FlowBench(store, ManualClock(), sink)
      #expect(await bench.deliver(try bench.note("a", .job)).ackedCount == 1)
      #expect(sink.published.isEmpty)
      #expect(bench.logged("cannot be buried either") == 1)
      #expect(try await isEmpty(bench))
    }
  }

  @Test func `A dead letter is publishable whatever was wrong with the message`() async throws {
    let long = String(repeating: "é", count: 5_000)
    var message = OutgoingMessage(
      .kept, to: (Topology.Exchanges.jobs, Topology.Queues.smsDispatch), type: MessageType(long), messageID: long,
      correlationID: long, cause: nil, at: UnixTime(seconds: -1), body: [UInt8](repeating: 32, count: 4 << 20))
    message.causationID = long
    message.traceparent = long
    let burial = message.burial(AMQPError(.tooLarge, long), by: FlowBench.author, at: UnixTime(seconds: 0))
    #expect(try await FlowBench.makeSink().publish([burial]) == [.confirmed])
    #expect(burial.routingKey == Topology.Queues.smsDispatch)
    #expect(burial.message.body.isEmpty)
  }

  @Test func `Messages survive being stored`() throws {
    var message = OutgoingMessage(
      .kept, to: ("e", ""), type: MessageType("t"), messageID: "m", correlationID: nil, cause: nil,
      at: UnixTime(milliseconds: -5), body: [1, 2, 3])
    message.causationID = "c"
    message.discardAfter = UnixTime(seconds: 9)
    var other = message
    other.duty = .reply
    other.discardAfter = nil
    other.body = []
    other.correlationID = ""
    other.replyTo = "q"
    for message in [message, other] {
      let content = OutboxCodec.encode(message)
      func row(_ content: [UInt8]) -> OutboxMessage {
        OutboxMessage(type: message.type, content: content, discardAt: message.discardAfter)
      }
      #expect(try OutboxCodec.decode(row(content)) == message)
      let sent = OutboxMessage(message, hold: nil)
      #expect(sent == row(content))
      #expect((sent.original as? SharedMessage)?.message == message)
      for length in 0..<content.count {
        #expect(throws: StoreError.self) { try OutboxCodec.decode(row(Array(content[..<length]))) }
      }
    }
  }

  // MARK: The clock is set

  @Test(arguments: stores, steps)
  func `A job that was put off is published when its wait is over, wherever the clock has gone`(
    _ kind: StoreUnderTest, step: Int
  ) async throws {
    try await FlowBench.with(kind) { bench in
      takesJobs(false, bench)
      await bench.deliver(try bench.note("a", .job))
      _ = bench.sink.takePublished()
      takesJobs(true, bench)
      bench.clock.advance(by: .seconds(step) + Outbox.retryDelay)
      await bench.maintenance.publishLeftovers()
      // It is past its deadline when the clock went ahead.
      #expect(bench.jobs.count == (step > 0 ? 0 : 1), "\(step)")
      #expect(bench.events.count == (step > 0 ? 1 : 0), "\(step)")
      #expect(try await isEmpty(bench))
    }
  }

  @Test(arguments: stores, [-3600, -60, 1])
  func `A held job is released when its wait is over, wherever the clock has gone`(_ kind: StoreUnderTest, step: Int)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      bench.sink.close()
      await bench.deliver(try bench.note("a", .heldJob))
      bench.sink.open()
      bench.clock.advance(by: .seconds(step) + WorkingSet.longestHold)
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.count == 1, "\(step)")
    }
  }
}
