import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

/// Messages that break the contract: never dropped, never requeued, and the worker goes on.
@Suite struct DeadLetterTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var reason: String
    var change: @Sendable (inout Message) -> Void

    init(_ reason: String, _ change: @escaping @Sendable (inout Message) -> Void) {
      self.reason = reason
      self.change = change
    }

    var testDescription: String { reason }
  }

  static let cases = [
    Case("NOT_JSON") { $0.body = Array("hello".utf8) },
    Case("NOT_JSON") { $0.body = Array(repeating: UInt8(ascii: "["), count: 513) },
    Case("WRONG_CONTENT_TYPE") { $0.contentType = "text/plain" },
    Case("WRONG_CONTENT_TYPE") { $0.contentType = nil },
    Case("UNKNOWN_TYPE") { $0.type = "other.job.v1" },
    Case("UNKNOWN_TYPE") { $0.type = nil },
    Case("UNKNOWN_VERSION") { $0.type = "test.job.v2" },
    Case("MISSING_FIELD") { $0.body = Array("{}".utf8) },
    Case("INVALID_FIELD") { $0.body = Array(#"{"deadline":"soon"}"#.utf8) },
    Case("INVALID_FIELD") { $0.messageID = String(repeating: "x", count: 249) },
    Case("BODY_TOO_LARGE") { $0.body = Array(repeating: UInt8(ascii: " "), count: 64 * 1024 + 1) },
    Case("MISSING_MESSAGE_ID") { $0.messageID = nil },
    Case("INVALID_FIELD") { $0.messageID = "a\nb" },
    Case("INVALID_FIELD") {
      $0.messageID = nil
      $0.malformedProperties = ["message_id"]
    },
    Case("INVALID_FIELD") { $0.headers["x-causation-id"] = .bytes([0xFF]) },
  ]

  @Test(arguments: cases) func `The reason is on the dead letter`(_ example: Case)
    async throws
  {
    try await withWorker { worker in
      var message = try job(replyTo: "amq.gen-reply-queue")
      message.userID = "somebody"
      message.expiration = "1000"
      message.headers["CC"] = .array(["elsewhere"])
      example.change(&message)
      let number = try await worker.process(message)

      let dead = worker.published(to: Topology.Exchanges.dead)
      try #require(dead.count == 1)
      #expect(dead[0].routingKey == "test.job")
      #expect(dead[0].message.body == message.body)
      #expect(dead[0].message.headers[MessageHeader.deadReason] == .string(example.reason))
      #expect(dead[0].message.headers[MessageHeader.deadQueue] == "test.job")
      #expect(dead[0].message.headers[MessageHeader.deadAt] == .string(start.rfc3339))
      #expect(dead[0].message.headers[MessageHeader.lastError]?.stringValue?.isEmpty == false)
      // What would keep the copy from arriving, or send it elsewhere.
      #expect(dead[0].message.userID == "worker" && dead[0].message.headers[MessageHeader.sender] == "somebody")
      #expect(dead[0].message.expiration == nil)
      #expect(dead[0].message.headers["CC"] == nil)

      let refusal = try #require(worker.published(to: "").first)
      #expect(refusal.routingKey == "amq.gen-reply-queue")
      #expect(refusal.message.correlationID == "verification-1")
      let result = try JobResult(json: refusal.message.body)
      #expect(result.outcome == .refused)
      #expect(result.reason?.code == "INVALID_MESSAGE")
      #expect(result.reason?.detail?.hasPrefix(example.reason + ": ") == true)
      #expect(worker.published(to: Topology.Exchanges.results).isEmpty)
      #expect(worker.journal.all.last == .acked(number))
      // The worker goes on.
      try await worker.process(job("next"))
      #expect(try worker.result().jobID == "next")
    }
  }

  @Test func `Jobs that the handler finds invalid are dead letters`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onPrepare { _ in .invalid(ContractProblem(.unknownKey, field: "variables.code", "is sealed")) }
      try await worker.process(job())
      #expect(
        worker.published(to: Topology.Exchanges.dead)[0].message.headers[MessageHeader.deadReason] == "UNKNOWN_KEY")
    }
  }

  @Test func `Without a reply address its end is a result`() async throws {
    try await withWorker { worker in
      var message = try job()
      message.userID = "coordinator"
      message.type = "other"
      try await worker.process(message)
      #expect(worker.published(to: "").isEmpty)
      #expect(worker.published(to: Topology.Exchanges.dead).count == 1)
      let told = try #require(worker.published(to: Topology.Exchanges.results).first)
      #expect(told.routingKey == "test.job.refused" && told.mandatory)
      #expect(told.message.messageID == "job-1.result" && told.message.type == "test.job.result.v1")
      #expect(told.message.userID == "worker" && told.message.headers[MessageHeader.sender] == "coordinator")
      let result = try worker.result()
      #expect(result.jobID == "job-1" && result.outcome == .refused && result.attempts == 0)
      #expect(result.reason?.code == "INVALID_MESSAGE")
      #expect(result.reason?.detail?.hasPrefix("UNKNOWN_TYPE: ") == true)
    }
  }

  @Test(arguments: [nil, String(repeating: "x", count: 249)])
  func `Of a message that cannot name a result nobody is told`(id: String?) async throws {
    try await withWorker { worker in
      var message = try job()
      message.messageID = id
      try await worker.process(message)
      #expect(worker.sink.confirmed.map(\.exchange) == [Topology.Exchanges.dead])
    }
  }

  @Test func `An oversize message is left to the broker`() async throws {
    try await withWorker { worker in
      var message = try job(replyTo: "amq.gen-reply-queue")
      message.body = []
      let number = try await worker.process(message, isOversize: true)
      #expect(worker.journal.contains(.rejected(number, requeue: false)))
      #expect(worker.published(to: "").count == 1)
      #expect(worker.published(to: Topology.Exchanges.dead).isEmpty)
    }
  }

  @Test func `A dead letter that no queue takes is left to the broker`()
    async throws
  {
    try await withWorker { worker in
      worker.sink.answer {
        $0.exchange == Topology.Exchanges.dead ? .returned(code: 312, text: "NO_ROUTE") : .confirmed
      }
      var message = try job()
      message.type = nil
      let number = worker.deliver(message)
      try await worker.advance(.seconds(10), until: "it is given up") { worker.wasSettled(number) }
      #expect(worker.journal.contains(.rejected(number, requeue: false)))
    }
  }

  @Test func `No log of a dead letter has its body`() async throws {
    try await withWorker { worker in
      var message = try job()
      message.body = Array(#"{"code":"123456"}"#.utf8)
      try await worker.process(message)
      let lines = worker.logs.lines()
      #expect(lines.contains { $0.contains("MISSING_FIELD") })
      #expect(!lines.contains { $0.contains("123456") })
    }
  }
}

extension DeadLetterTests {
  @Test func `A message whose correlation is no text is answered without one`() async throws {
    try await withWorker { worker in
      var message = try job(replyTo: "amq.gen-reply-queue")
      message.correlationID = nil
      message.malformedProperties = ["correlation_id"]
      try await worker.process(message)
      let refusal = try #require(worker.published(to: "").first)
      #expect(refusal.message.correlationID == nil)
      #expect(try JobResult(json: refusal.message.body).reason?.detail == "INVALID_FIELD: correlation_id is not UTF-8")
      #expect(worker.published(to: Topology.Exchanges.dead).count == 1)
    }
  }

  @Test(arguments: [nil, "reply\nqueue"]) func `Improper reply queues get no answer`(
    address: String?
  ) async throws {
    try await withWorker { worker in
      var message = try job(replyTo: address)
      if address == nil { message.malformedProperties = ["reply_to"] }
      try await worker.process(message)
      #expect(worker.published(to: "").isEmpty)
      let dead = try #require(worker.published(to: Topology.Exchanges.dead).first?.message)
      #expect(dead.headers[MessageHeader.lastError]?.stringValue?.hasPrefix("reply_to ") == true)
    }
  }

  /// The sink refuses what AMQP refuses: such headers could go neither to the dead letters nor to a retry.
  @Test func `Headers that cannot be published again are buried without them`() async throws {
    try await withWorker { worker in
      var deep = FieldValue.null
      for _ in 0..<16 { deep = .array([deep]) }
      for header in [deep, .string(String(repeating: "x", count: 65_000))] {
        var message = try job()
        message.headers["x"] = header
        try await worker.process(message)
        let dead = try #require(worker.published(to: Topology.Exchanges.dead).last?.message)
        #expect(dead.headers[MessageHeader.lastError]?.stringValue?.hasPrefix("headers take more") == true)
        #expect(dead.headers["x"] == nil)
      }
      #expect(worker.published(to: Topology.Exchanges.dead).count == 2)
    }
  }
}
