import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct ReportQueueTests {
  let bench: FlowBench

  init() async throws { bench = try await FlowBench() }

  /// As the SMS worker publishes the result of a note's job.
  private func result(
    of text: String, _ outcome: JobOutcome = .accepted, _ change: (inout Delivery) -> Void = { _ in }
  ) throws -> Delivery {
    let body = JobResult(jobID: text + ".job", outcome: outcome, attempts: 1, startedAt: start, finishedAt: start)
    var envelope = Envelope(
      type: JobResult.type(ofJob: SMSDispatchJob.type), messageID: JobResult.messageID(jobID: body.jobID),
      userID: "sms-worker")
    envelope.statedSender = FlowBench.author.userID
    var delivery = Delivery(
      message: envelope.message(body: try body.json()), exchange: Topology.Exchanges.results,
      routingKey: "sms.dispatch.\(outcome.rawValue)")
    change(&delivery)
    return delivery
  }

  private func reply(_ body: some MessageBody, to text: String, user: String?, id: String = "r") throws -> Delivery {
    let envelope = Envelope(type: type(of: body).type, messageID: id, correlationID: text, userID: user)
    return Delivery(message: envelope.message(body: try body.json()), routingKey: Topology.Queues.results)
  }

  private func word(_ text: String, _ bench: FlowBench) async throws -> String {
    try Note(try #require(try await bench.stored(text))).word
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A worker's result is applied to its note`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["a"]])
      let source = await bench.deliver(reports: [
        try result(of: "a"), try result(of: "b"), try result(of: "é"),
        try result(of: "a") { $0.message.messageID = "somebody-elses.result" },
        try result(of: "a") { $0.message.messageID = "no-result" },
      ])
      #expect(source.ackedCount == 5)
      #expect(bench.dead.isEmpty)
      #expect(try await word("a", bench) == "accepted")
    }
  }

  @Test func `A result from another user or under another key is forged: a dead letter that is counted`() async throws {
    let changes: [(inout Delivery) -> Void] = [
      { $0.message.userID = "mail-worker" }, { $0.message.userID = nil }, { $0.message.userID = "service" },
      { $0.message.userID = "coordinator" }, { $0.routingKey = "mail.relay.refused" },
      { $0.routingKey = "sms.dispatch.accepted" }, { $0.routingKey = "sms.dispatch.x.refused" },
      { ($0.exchange, $0.routingKey) = ("", "coordinator.results") },
      { ($0.exchange, $0.routingKey) = ("", "sms.dispatch.refused") }, { $0.message.userID = "sms-eu" },
    ]
    try await bench.put([["a"]])
    for (number, change) in changes.enumerated() {
      _ = bench.sink.takePublished()
      await bench.deliver(reports: [try result(of: "a", .refused, change)])
      #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.dead], "\(number)")
      #expect(bench.deadReasons == ["FORGED_RESULT"], "\(number)")
      #expect(bench.published(on: Topology.Exchanges.dead).first?.routingKey == Topology.Queues.results)
      #expect(bench.metric("countersign_results_forged_total") == Double(number + 1))
    }
    #expect(try await word("a", bench).isEmpty)
  }

  @Test func `The result of somebody else's job changes nothing, and is counted and acknowledged`() async throws {
    try await bench.put([["a"]])
    _ = bench.sink.takePublished()
    var reports = try ["service", "unnamed", "sms-worker"].map { sender in
      try result(of: "a") { $0.message.headers[MessageHeader.sender] = .string(sender) }
    }
    reports.append(try result(of: "a") { $0.message.headers[MessageHeader.sender] = nil })
    #expect(await bench.deliver(reports: reports).ackedCount == 4)
    #expect(bench.sink.published.isEmpty)
    #expect(bench.metric("countersign_results_foreign_total") == 4)
    #expect(bench.metric("countersign_results_forged_total") == 0)
    #expect(bench.logged("passed over") == 1)
    #expect(try await word("a", bench).isEmpty)
  }

  @Test func `Results of jobs that are not known are passed over; a version that is not known is a dead letter`()
    async throws
  {
    let source = await bench.deliver(reports: [
      try result(of: "a") { $0.message.type = "x.y.result.v1" },
      try result(of: "a") { $0.message.type = "x.y.result.v1" },
      try result(of: "a") { $0.message.type = "sms.dispatch.result.v9" },
      try result(of: "a") { $0.message.type = "x.y.v1" },
    ])
    #expect(source.ackedCount == 4)
    #expect(bench.deadReasons == ["UNKNOWN_VERSION", "UNKNOWN_TYPE"])
    #expect(bench.metric("countersign_results_foreign_total") == 2)
    #expect(bench.logged("passed over") == 1)
  }

  @Test func `A dead result that an operator redrives is taken, when its worker said whose job it was`() async throws {
    try await bench.put([["a", "b"]])
    func redriven(_ text: String, sender: String) throws -> Delivery {
      try result(of: text, .refused) {
        $0.message = $0.message.publishedAgain(by: Topology.Users.operator, sender: sender)
        ($0.exchange, $0.routingKey) = ("", Topology.Queues.results)
      }
    }
    await bench.deliver(reports: [
      try redriven("a", sender: FlowBench.author.userID), try redriven("b", sender: "service"),
    ])
    #expect(bench.dead.isEmpty)
    #expect(try await word("a", bench) == "refused")
    #expect(try await word("b", bench).isEmpty)
  }

  @Test func `A result that contradicts its envelope is a dead letter`() async throws {
    try await bench.put([["a", "b"]])
    let other = try result(of: "b").message.body
    await bench.deliver(reports: [
      try result(of: "a") { $0.message.body = other }, try result(of: "a") { $0.message.body = [] },
    ])
    #expect(bench.deadReasons == ["INVALID_FIELD", "NOT_JSON"])
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A report that cannot be stored becomes a dead letter, and the others are stored`(_ kind: StoreUnderTest)
    async throws
  {
    try await FlowBench.with(kind) { bench in
      try await bench.put([["a", "b"]])
      try await bench.store.store.put(Record(try id("broken", NoteFlow.kind), body: [9]))
      _ = bench.sink.takePublished()
      let source = await bench.deliver(reports: [
        try result(of: "a"), try result(of: "broken"), try result(of: "b"),
      ])
      #expect(source.ackedCount == 3)
      #expect(bench.deadReasons == ["INTERNAL_ERROR"])
      #expect(bench.dead.first?.headers[MessageHeader.sender] == .string(FlowBench.author.userID))
      #expect(try await word("a", bench) == "accepted")
      #expect(try await word("b", bench) == "accepted")
    }
  }

  @Test func `A report that a process died of is buried`() async throws {
    let delivery = try result(of: "a")
    let batch = await BatchPipeline(
      source: MemoryMessageSource([[delivery]]), work: ReportQueue(bench.context), bench.context
    ).process([delivery], isCrashed: true)
    #expect(batch?.ended.map { $0.conclusion.dead } == [.crashed])
  }

  // MARK: Replies of services

  @Test func `A service's reply is believed from that service alone`() async throws {
    let users = [("a", nil), ("b", "service"), ("c", "accounts"), ("d", "gateway"), ("e", "operator")]
    try await bench.put([users.map(\.0)])
    for (text, user) in users {
      _ = bench.sink.takePublished()
      await bench.deliver(reports: [try reply(NoteKept(text: "x"), to: text, user: user)])
      let isBelieved = user == "gateway"
      #expect(bench.deadReasons == (isBelieved ? [] : ["FORGED_RESULT"]))
      #expect(try await word(text, bench) == (isBelieved ? "gateway" : ""))
    }
  }

  @Test
  func
    `A service's reply that is published again is believed from the operator, who states the service, and from no other`()
    async throws
  {
    let users = [
      ("a", "operator", "gateway"), ("b", "operator", "service"), ("c", "operator", "operator"),
      ("d", "service", "gateway"), ("e", "accounts", "gateway"), ("f", "gateway", "service"),
    ]
    try await bench.put([users.map(\.0)])
    for (text, user, sender) in users {
      _ = bench.sink.takePublished()
      var delivery = try reply(NoteKept(text: "x"), to: text, user: user)
      delivery.message.headers[MessageHeader.sender] = .string(sender)
      await bench.deliver(reports: [delivery])
      let isBelieved = text == "a" || text == "f"
      #expect(bench.deadReasons == (isBelieved ? [] : ["FORGED_RESULT"]), "\(text)")
      #expect(try await word(text, bench) == (isBelieved ? "gateway" : ""), "\(text)")
      // A redriven reply states the user that published it, not what that user stated.
      if !isBelieved {
        let stated = user == "operator" ? sender : user
        #expect(bench.dead.first?.headers[MessageHeader.sender] == .string(stated), "\(text)")
      }
    }
  }

  @Test func `Errors of two services have one type: each is read by the flow that waits for its sender`() async throws {
    try await bench.put([["a", "b", "c"]])
    _ = bench.sink.takePublished()
    let error = ErrorReply(APIError(.internalError, "no"))
    await bench.deliver(reports: [
      try reply(error, to: "a", user: "gateway"), try reply(error, to: "b", user: "accounts"),
      try reply(error, to: "c", user: "service"), try reply(error, to: "c", user: "gateway", id: "not-ours"),
    ])
    #expect(try await word("a", bench) == "gateway")
    #expect(try await word("b", bench) == "accounts")
    #expect(try await word("c", bench).isEmpty)
    #expect(bench.deadReasons == ["FORGED_RESULT"])
  }
}
