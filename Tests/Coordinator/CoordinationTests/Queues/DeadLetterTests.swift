import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import SQLite
import TestSupport
import Testing

@testable import Coordination

/// Copies of commands that the coordinator gives up.
@Suite("Dead letters of commands")
struct DeadLetterTests {
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

  private static func expectCopy(of message: Message, _ reason: FieldValue, in bench: Bench) throws {
    let letters = bench.sink.confirmed.filter { $0.exchange == Topology.Exchanges.dead }
    try #require(letters.count == 1)
    let letter = letters[0].message
    #expect(letters[0].routingKey == Topology.Queues.commands)
    #expect(letter.body == message.body && letter.messageID == message.messageID)
    #expect(
      Set(letter.headers.keys) == [
        "traceparent", MessageHeader.sender, MessageHeader.deadReason, MessageHeader.deadQueue, MessageHeader.deadAt,
        MessageHeader.lastError,
      ])
    #expect(letter.headers[MessageHeader.deadReason] == reason)
    #expect(letter.headers[MessageHeader.sender] == "service")
    // A copy in the sender's name would be returned by the broker.
    #expect(letter.userID == Bench.author.userID)
    #expect(letter.expiration == nil && letter.isPersistent)
  }

  @Test(
    "A command that is given up is copied once, without the headers that would route it elsewhere or drop it",
    arguments: [nil, "sms.dispatch"])
  func headersOfTheCopy(replyTo: String?) async throws {
    try await Bench.with { bench in
      var message = try bench.commandMessage(
        StartVerification(phoneNumber: Bench.number, app: Bench.app), replyTo: replyTo)
      if replyTo == nil { message.body = Array("no JSON".utf8) }
      Self.burden(&message)
      let source = await bench.deliver([message])
      #expect(source.ackedCount == 1)
      try Self.expectCopy(of: message, replyTo == nil ? "INVALID_ARGUMENT" : "INVALID_REPLY_TO", in: bench)
      #expect(bench.sink.published.count == 1, "the reply address is not the sender's")
      #expect(bench.sink.published.first?.message.replyTo == replyTo)
    }
  }

  @Test("A command that processes died of loses the pseudo-queue of its replies, and is answered there")
  func replyAddressOfTheCopy() async throws {
    try await Bench.with { bench in
      var message = try bench.commandMessage(
        StartVerification(phoneNumber: Bench.number, app: Bench.app), replyTo: Topology.Queues.directReplyTo)
      Self.burden(&message)
      let delivery = Delivery(message: message, isRedelivered: true)
      try await CrashTests.die(of: delivery, times: 3, bench)
      await bench.deliver([delivery], marks: try CrashTests.marks(bench))
      try Self.expectCopy(of: message, "CRASHED", in: bench)
      #expect(bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }.first?.message.replyTo == nil)
      #expect(bench.sink.published.filter { $0.exchange.isEmpty }.map(\.routingKey) == [Topology.Queues.directReplyTo])
    }
  }
}
