import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct CommandQueueTests {
  let bench: FlowBench

  init() async throws { bench = try await FlowBench() }

  // MARK: The inbox

  @Test(arguments: StoreUnderTest.allCases)
  func `A command that comes again is answered alike, and carried out once`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      for text in ["a", "refused"] {
        let message = try bench.note(text, .job, .event)
        await bench.deliver(batches: [[message, message], [message]])
      }
      #expect(bench.replies.count == 6)
      #expect(Set(bench.replies.map(\.body)).count == 2)
      #expect(Set(bench.replies.compactMap(\.messageID)) == ["a.reply", "refused.reply"])
      #expect(bench.jobs.count == 2 && bench.events.count == 2)
      #expect(bench.metric("notes_stored_total") == 2)
      #expect(bench.metric(#"countersign_commands_total{command="note.put",code="OK"}"#) == 3)
      #expect(bench.metric(#"countersign_commands_total{command="note.put",code="INVALID_CODE"}"#) == 3)
    }
  }

  @Test func `Another order under the ID of a command is refused, and changes nothing`() async throws {
    await bench.deliver(try bench.note("a", id: "m"), try bench.note("b", id: "m"))
    let error = try ErrorReply(json: try #require(bench.replies.last).body).error
    #expect(error.code == .invalidArgument && error.field == "message_id" && error.reason == "MESSAGE_ID_REUSED")
    #expect(try await bench.stored("b") == nil)
    _ = bench.sink.takePublished()
    await bench.deliver(try bench.note("a", id: "m"))
    #expect(bench.replies.map(\.type) == ["note.kept.v1"])
  }

  @Test func `A command is known by the fingerprint of an earlier secret`() async throws {
    let key = try InboxKey(MessageIdentity(sender: SenderRule.unnamed, messageID: "m").key)
    let entry = InboxEntry(
      .replied(type: NoteKept.type.text, body: [1]), fingerprint: Array("old a".utf8), keepUntil: start + .seconds(9))
    var set = try await bench.store.store.read(keys(messages: [key]), at: start)
    try set.set(entry, of: key)
    _ = try await bench.store.store.write(set)
    await bench.deliver(try bench.note("a", id: "m"), try bench.note("b", id: "m"))
    #expect(bench.replies.map(\.type) == ["note.kept.v1", "error.v1"])
    #expect(bench.replies.first?.body == [1])
  }

  @Test func `What changed nothing, and what may succeed later, is not recorded`() async throws {
    try await bench.put([["nothing", "transient"]])
    #expect(try await bench.recorded(["nothing", "transient"]) == 0)
    // Its side effects remain.
    #expect(try await bench.stored("transient") != nil)
    await bench.deliver(try bench.note("a", id: "transient"))
    #expect(bench.replies.last?.type == "note.kept.v1")
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A recorded answer is kept for its time, and no longer`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["a"]])
      bench.clock.advance(by: bench.context.rules.inboxRetention - .milliseconds(1))
      await bench.maintenance.tidy()
      #expect(try await bench.recorded(["a"]) == 1)
      bench.clock.advance(by: .milliseconds(1))
      await bench.maintenance.tidy()
      #expect(try await bench.recorded(["a"]) == 0)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `An answer with a secret is not recorded, and made again from its note`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      let message = try bench.note("secret")
      await bench.deliver(batches: [[message], [message]])
      #expect(try bench.replies.map { try NoteKept(json: $0.body).text } == ["hidden [7]", "hidden [7]"])
      #expect(try await bench.entry("secret")?.state == .unrecorded(note: [7]))
      #expect(bench.metric("notes_stored_total") == 1)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A command that waits keeps its place, and its newest address`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      await bench.deliver(try bench.note("wait"))
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.entry("wait")?.state == .reserved)
      #expect(bench.metric(#"countersign_commands_total{command="note.put",code="DEFERRED"}"#) == 1)
      await bench.deliver(try bench.note("wait", replyTo: "amq.gen-new"), try bench.note("b", id: "wait"))
      #expect(bench.replies.map(\.type) == ["error.v1"])
      #expect(try Note(try #require(try await bench.stored("wait"))).word == "amq.gen-new")
      #expect(bench.metric("notes_stored_total") == 1)
    }
  }

  @Test func `A command that is no longer waited for is carried out as if it had just arrived`() async throws {
    await bench.deliver(try bench.note("wait"))
    var note = Note(text: "wait")
    note.word = "over"
    let (load, over) = (keys(records: [try id("wait", NoteFlow.kind)]), note)
    _ = try await bench.store.store.transact(load, at: start) { set throws(StoreError) in try over.store(in: &set) }
    await bench.deliver(try bench.note("wait"))
    #expect(bench.metric("notes_stored_total") == 2)
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A deferred answer is sent and recorded once`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      let message = try bench.note("wait")
      await bench.deliver(message)
      let envelope = try Envelope(message)
      let load = keys(messages: [try InboxKey(envelope.identity.key)])
      let answer = try CommandAnswer(NoteKept(text: "late"))
      for _ in 0..<2 {
        let messages = try await bench.context.transact(load, at: start, settling: OutboxSettlement()) {
          set throws(StoreError) in
          try set.answer(answer, to: envelope, fingerprint: Array("new wait".utf8), keptFor: .seconds(60))
        }.1
        _ = try await bench.context.outbox.publish(messages)
      }
      // The second answer is published too: it is up to the flow not to answer twice. The first stays recorded.
      #expect(try bench.replies.map { try NoteKept(json: $0.body).text } == ["late", "late"])
      _ = bench.sink.takePublished()
      await bench.deliver(message)
      #expect(try bench.replies.map { try NoteKept(json: $0.body).text } == ["late"])
      #expect(bench.metric("notes_stored_total") == 1)
    }
  }

  @Test func `A deferred answer goes only where its sender may direct it`() throws {
    let envelope = Envelope(type: PutNote.type, messageID: "m", replyTo: "sms.dispatch", userID: "service")
    var set = WorkingSet(at: start)
    set.load(nil, of: try InboxKey(envelope.identity.key))
    try set.answer(CommandAnswer(NoteKept(text: "a")), to: envelope, fingerprint: [], keptFor: .seconds(1))
    #expect(set.changes.messages.count == 1 && set.changes.outgoing.isEmpty)
  }

  @Test func `The IDs of two senders are two commands, also after a retry that names the sender`() async throws {
    let first = try bench.message(PutNote(text: "a"), id: "1", user: "service")
    let second = try bench.message(PutNote(text: "b"), id: "1", user: "billing")
    let again = first.publishedAgain(by: Topology.Users.operator, sender: "service")
    await bench.deliver(batches: [[first, second], [again]])
    #expect(bench.replies.map(\.type) == Array(repeating: "note.kept.v1", count: 3))
    // The replies of two batches have no order.
    #expect(try bench.replies.map { try NoteKept(json: $0.body).text }.sorted() == ["a", "a", "b"])
    // The service's ID would be used already: nobody else's word about the sender is believed.
    var unbelieved = try bench.message(PutNote(text: "c"), id: "1", user: "service")
      .publishedAgain(by: Topology.Users.operator, sender: "service")
    unbelieved.userID = "somebody"
    await bench.deliver(unbelieved)
    #expect(bench.replies.last?.type == "note.kept.v1")
    #expect(try await bench.entry("1", of: "somebody") != nil)
  }

  @Test func `A reply address that is not the sender's: buried, not answered, not carried out`() async throws {
    for (queue, user) in [
      ("coordinator.results", "service"), ("sms.dispatch", "service"), ("countersign.reply.other.1", "service"),
      ("accounts.replies", "service"), ("countersign.reply.service.1", nil),
    ] {
      _ = bench.sink.takePublished()
      await bench.deliver(try bench.message(PutNote(text: "a"), replyTo: queue, user: user))
      #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.dead], "\(queue)")
      #expect(bench.deadReasons == ["INVALID_REPLY_TO"])
      #expect(bench.dead.first?.userID == FlowBench.author.userID)
      #expect(bench.dead.first?.headers[MessageHeader.sender] == .string(user ?? "unnamed"))
    }
    #expect(try await bench.stored("a") == nil)
    _ = bench.sink.takePublished()
    await bench.deliver(
      try bench.message(PutNote(text: "a"), replyTo: "countersign.reply.service.1", user: "service"))
    #expect(bench.sink.published.map(\.routingKey) == ["countersign.reply.service.1"])
    #expect(bench.sink.published.allSatisfy { $0.message.userID == FlowBench.author.userID })
  }

  @Test func `An operators' command is refused to others`() async throws {
    for user in [nil, "service"] {
      let error = try await bench.error(SignNote(text: "a"), user: user)
      #expect(error.code == .operationNotAllowed && error.field == "user_id")
    }
    #expect(try await bench.ask(SignNote(text: "a"), user: "operator").type == "note.kept.v1")
  }

  @Test func `A command for requesters is refused to all whom the configuration does not name, with the key that does`()
    async throws
  {
    for user in [nil, "service", "operator", "gateway"] {
      let error = try await bench.error(RequestNote(text: "a"), user: user)
      #expect(error.code == .operationNotAllowed && error.field == "user_id")
      #expect(error.message.contains("'requesters' in the configuration"))
    }
    #expect(try await bench.stored("a") == nil)
    #expect(try await bench.ask(RequestNote(text: "a"), user: "desk").type == "note.kept.v1")
  }

  @Test func `An answer is kept for as long as the inbox or its command says, whichever is longer`() async throws {
    _ = try await bench.ask(RequestNote(text: "a"), id: "long", user: "desk")
    _ = try await bench.ask(SignNote(text: "b"), id: "short", user: "operator")
    let now = bench.clock.now()
    #expect(try await bench.entry("long", of: "desk")?.keepUntil == now + RequestNote.answerIsKeptFor)
    #expect(try await bench.entry("short", of: "operator")?.keepUntil == now + bench.context.rules.inboxRetention)
  }

  @Test func `A requester that is gone is no error`() async throws {
    bench.sink.answer { $0.exchange.isEmpty ? .returned(code: 312, text: "NO_ROUTE") : .confirmed }
    let source = try await bench.put([["a"]])
    #expect(source.ackedCount == 1 && source.rejectedCount == 0)
    #expect(bench.metric("countersign_replies_undelivered_total") == 1)
  }

  @Test func `The status of an operation is looked up among the records of all flows`() async throws {
    try await bench.put([["a"]])
    let reply = try await bench.ask(GetOperationStatus(operationID: "a"))
    #expect(try OperationStatus(json: reply.body).operationID == "a")
    for id in ["b", "", "é", String(repeating: "x", count: 200)] {
      let error = try await bench.error(GetOperationStatus(operationID: id))
      #expect(error.code == .invalidSessionInfo && error.field == "operationID")
    }
  }

  @Test func `A service without operations does not know operation.status`() {
    #expect(FlowRegistry([OtherFlow()]).commandKinds.isEmpty)
  }

  // MARK: Bad input

  @Test func `Bad input with a requester is answered, without one it is a dead letter; the others are not touched`()
    async throws
  {
    var noJSON = try bench.note("a", id: "bad1")
    noJSON.body = Array("no json".utf8)
    var unknownVersion = try bench.note("a", replyTo: nil)
    unknownVersion.type = "note.put.v9"
    var noField = try bench.note("a", id: "bad3", replyTo: nil)
    noField.body = Array("{}".utf8)
    var wrongContent = try bench.note("a")
    wrongContent.contentType = "text/plain"
    var tooLarge = try bench.note("a")
    tooLarge.body = [UInt8](repeating: 32, count: 65_537)
    let source = await bench.deliver(
      noJSON, unknownVersion, try bench.note("a"), noField, wrongContent, tooLarge)
    #expect(source.ackedCount == 6)
    #expect(bench.published(on: Topology.Exchanges.dead).map(\.routingKey) == Array(repeating: bench.queue, count: 2))
    #expect(bench.deadReasons == ["UNKNOWN_VERSION", "MISSING_PHONE_NUMBER"])
    #expect(bench.dead.first?.body == unknownVersion.body)
    #expect(bench.replies.filter { $0.type == "error.v1" }.count == 3)
    #expect(bench.replies.filter { $0.type == "note.kept.v1" }.count == 1)
  }

  @Test func `An envelope that nobody could publish again is told or buried, with the property's name`() async throws {
    var correlation = try bench.note("a")
    correlation.correlationID = nil
    correlation.malformedProperties = ["correlation_id"]
    var address = try bench.note("a", replyTo: nil)
    address.malformedProperties = ["reply_to"]
    var control = try bench.note("a")
    control.replyTo = "reply\nqueue"
    var deep = try bench.note("a", replyTo: nil)
    deep.headers["x"] = (0..<16).reduce(FieldValue.null) { value, _ in .array([value]) }
    let source = await bench.deliver(correlation, address, control, deep)
    #expect(source.ackedCount == 4)
    #expect(bench.deadReasons == Array(repeating: "INVALID_FIELD", count: 3))
    #expect(
      bench.dead.map { $0.headers[MessageHeader.lastError]?.stringValue?.prefix(8) }
        == ["reply_to", "reply_to", "headers "])
    let reply = try #require(bench.replies.first)
    #expect(bench.sink.published.count == 4)
    #expect(reply.type == "error.v1" && reply.correlationID == nil)
  }

  @Test func `A command whose body was not kept is left to the broker's dead letters`() async throws {
    let message = try bench.note("a", replyTo: nil)
    let source = MemoryMessageSource([[Delivery(message: message, isOversize: true)]])
    await bench.pipeline(source).run()
    #expect(source.rejectedCount == 1 && source.ackedCount == 0)
    #expect(bench.sink.published.isEmpty)
  }

  @Test func `A dead letter that the broker does not take is left to the broker`() async throws {
    bench.sink.answer { $0.exchange == Topology.Exchanges.dead ? .returned(code: 312, text: "NO_ROUTE") : .confirmed }
    var message = try bench.note("a", replyTo: nil)
    message.type = "nothing"
    let source = await bench.deliver(message)
    #expect(source.ackedCount == 0 && source.rejectedCount == 1)
  }
}

extension FlowBench {
  var queue: String { context.rules.commandQueue }
}
