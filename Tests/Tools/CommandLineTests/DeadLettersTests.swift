import CountersignAMQP
import CountersignEncoding
import CountersignTelemetry
import Synchronization
import Testing

@testable import CommandLine

/// A dead queue in memory: what is taken and not removed is back when the command has ended.
final class FakeDeadQueue: DeadQueue {
  struct Contents {
    var waiting: [Delivery] = []
    var taken: [Delivery] = []
    var published: [Publication] = []
    var answer = PublishOutcome.confirmed
  }

  let contents: Mutex<Contents>
  let user: String
  private let queue: String
  /// Numbers of messages in other queues.
  private let others: [String: Int]

  init(
    _ messages: [Message], answer: PublishOutcome = .confirmed, queue: String = "sms.dispatch.dead",
    user: String = "operator", others: [String: Int] = [:]
  ) {
    self.queue = queue
    self.others = others
    self.user = user
    contents = Mutex(Contents(waiting: messages.map { Delivery(message: $0) }, answer: answer))
  }

  var left: [String?] { contents.withLock { ($0.taken + $0.waiting).map(\.message.messageID) } }
  var published: [Publication] { contents.withLock { $0.published } }

  func get(_ queue: String) async throws(AMQPError) -> (delivery: Delivery, remaining: Int)? {
    if let count = others[queue] { return (Delivery(message: Message()), count - 1) }
    guard queue == self.queue else { return nil }
    return contents.withLock {
      if $0.waiting.isEmpty { return nil }
      let delivery = $0.waiting.removeFirst()
      $0.taken.append(delivery)
      return (delivery, $0.waiting.count)
    }
  }

  /// Tags of made deliveries are all the same, so the one that was taken last is meant.
  func ack(_ tag: DeliveryTag) async throws(AMQPError) { contents.withLock { _ = $0.taken.popLast() } }

  func publish(_ publication: Publication) async throws(AMQPError) -> PublishOutcome {
    try publication.check(maxBodyBytes: 4 << 20)
    return contents.withLock {
      $0.published.append(publication)
      return $0.answer
    }
  }
}

@Suite struct DeadLettersTests {
  static let queue = "sms.dispatch"

  static func message(_ id: String?, reason: String = "NOT_JSON", redrives: Int64? = nil) -> Message {
    var headers: [String: FieldValue] = [
      "x-dead-reason": .string(reason), "x-dead-at": "2026-07-01T12:00:00Z", "x-last-error": "the body is not JSON",
      "x-attempt": 3, "x-death": .array([.table(["reason": "rejected"])]), "traceparent": "kept",
    ]
    if let redrives { headers["x-redrive-count"] = .int(redrives) }
    var message = Message(
      headers: headers, messageID: id, type: "sms.dispatch.v1", userID: "somebody", body: Array("{}".utf8))
    message.contentType = "application/json"
    return message
  }

  func redrive(
    _ broker: FakeDeadQueue, _ filter: DeadLetterFilter = DeadLetterFilter(), limit: Int = 100,
    pause: () async throws(CommandLineError) -> Void = { () throws(CommandLineError) in }
  ) async throws(CommandLineError) -> DeadLetters.Outcome {
    try await DeadLetters(broker: broker).redrive(
      queue: Self.queue, filter: filter, limit: limit, redriveID: "r1", pause: pause)
  }

  @Test(
    arguments: ["ada", "service", "coordinator", "", "Operator"])
  func `Nobody but operator redrives: another's word for a message's sender is not believed`(user: String) async throws
  {
    let broker = FakeDeadQueue([Self.message("a")], user: user)
    let error = await #expect(throws: CommandLineError.self) { try await redrive(broker) }
    #expect(error?.code == .notPermitted)
    #expect(error?.description.contains("'operator'") == true)
    #expect(error?.description.contains("'\(user)'") == true)
    #expect(broker.left == ["a"] && broker.published.isEmpty)
    // To look is harmless.
    #expect(
      try await DeadLetters(broker: broker).list(queue: Self.queue, filter: DeadLetterFilter(), limit: 1).letters.count
        == 1)
  }

  @Test func `Listing leaves everything where it is`() async throws {
    let broker = FakeDeadQueue([Self.message("a"), Self.message("b", reason: "MAXLEN"), Self.message("c")])
    let found = try await DeadLetters(broker: broker).list(
      queue: Self.queue, filter: DeadLetterFilter(reason: "not_json"), limit: 10)
    #expect(found.letters.map(\.id) == ["a", "c"])
    #expect(found.scanned == 3)
    #expect(broker.left == ["a", "b", "c"])
  }

  @Test func `The limit ends the walk and says what was not seen`()
    async throws
  {
    let broker = FakeDeadQueue((1...5).map { Self.message("\($0)") })
    let found = try await DeadLetters(broker: broker).list(queue: Self.queue, filter: DeadLetterFilter(), limit: 2)
    #expect(found.letters.map(\.id) == ["1", "2"])
    #expect(found.unseen == 3)
  }

  @Test func `A redrive keeps the ID and leaves the first life behind`()
    async throws
  {
    let broker = FakeDeadQueue([Self.message("a")])
    let outcome = try await redrive(broker)
    #expect(outcome.letters.map(\.id) == ["a"])
    #expect(broker.left == [])
    let publication = try #require(broker.published.first)
    #expect(publication.exchange == "" && publication.routingKey == Self.queue && publication.mandatory)
    #expect(publication.message.messageID == "a")
    #expect(publication.message.isPersistent)
    #expect(publication.message.userID == "operator")
    #expect(
      publication.message.headers == [
        "x-redrive-id": "r1", "x-redrive-count": 1, "traceparent": "kept", "x-sender": "somebody",
      ])
  }

  @Test(
    arguments: [
      // Buried by its consumer.
      ("sms.dispatch", "sms.dispatch.v1", "sms-worker", "coordinator", "coordinator"),
      // As its sender wrote it, past the delivery limit.
      ("sms.dispatch", "sms.dispatch.v1", "service", "coordinator", "service"),
      ("sms.dispatch", "sms.dispatch.v1", "mail-worker", "coordinator", "mail-worker"),
      ("sms.dispatch", "sms.dispatch.v1", nil, "operator", "unnamed"),
      ("coordinator.commands", "conversion.lift.v1", "coordinator", "service", "service"),
      ("coordinator.commands", "conversion.lift.v1", "service", "operator", "service"),
      ("coordinator.results", "sms.dispatch.result.v1", "sms-worker", "coordinator", "coordinator"),
      ("coordinator.results", "sms.dispatch.result.v1", "mail-worker", "coordinator", "mail-worker"),
      ("coordinator.results", "sms.delivery.result.v1", "coordinator", "coordinator", "coordinator"),
    ] as [(String, String, String?, String, String)])
  func `A redriven message keeps its first sender; what the broker itself has buried is not believed about it`(
    queue: String, type: String, user: String?, stated: String, sender: String
  ) {
    let message = Message(headers: ["x-sender": .string(stated)], messageID: "m", type: type, userID: user)
    let revived = DeadLetter(message: message, queue: queue).revived(redriveID: "r", by: "operator")
    #expect(revived.userID == "operator" && revived.headers["x-sender"] == .string(sender))
  }

  @Test func `Only what matches is redriven`() async throws {
    let broker = FakeDeadQueue([Self.message("a"), Self.message("b"), Self.message("c")])
    _ = try await redrive(broker, DeadLetterFilter(ids: ["b"]))
    #expect(broker.published.map(\.message.messageID) == ["b"])
    #expect(broker.left == ["a", "c"])
  }

  @Test func `Letters redriven too often stay`() async throws {
    let broker = FakeDeadQueue([Self.message("a", redrives: 10), Self.message("b", redrives: 9)])
    let outcome = try await redrive(broker)
    #expect(outcome.worn.map(\.id) == ["a"])
    #expect(outcome.letters.map(\.id) == ["b"])
    #expect(broker.left == ["a"])
    #expect(broker.published.first?.message.headers["x-redrive-count"] == 10)
  }

  @Test func `A message that no queue took is not removed`() async throws {
    let broker = FakeDeadQueue([Self.message("a")], answer: .returned(code: 312, text: "NO_ROUTE"))
    await #expect(throws: CommandLineError.self) { try await redrive(broker) }
    #expect(broker.left == ["a"])
  }

  @Test func `A queue that is full leaves the rest for later`() async throws {
    let broker = FakeDeadQueue([Self.message("a"), Self.message("b")], answer: .nacked)
    let error = await #expect(throws: CommandLineError.self) { try await redrive(broker) }
    #expect(error?.code == .unavailable)
    #expect(broker.left == ["a", "b"])
    #expect(broker.published.count == 1)
  }

  @Test func `There is a pause between two messages only`() async throws {
    let broker = FakeDeadQueue([Self.message("a"), Self.message("b"), Self.message("c")])
    var pauses = 0
    _ = try await redrive(broker, pause: { () throws(CommandLineError) in pauses += 1 })
    #expect(pauses == 2)
  }

  @Test func `Dropping removes what matches`() async throws {
    let broker = FakeDeadQueue([Self.message("a"), Self.message("b", reason: "REJECTED")])
    let outcome = try await DeadLetters(broker: broker).drop(
      queue: Self.queue, filter: DeadLetterFilter(reason: "REJECTED"), limit: 10)
    #expect(outcome.letters.map(\.id) == ["b"])
    #expect(broker.left == ["a"])
  }
}

@Suite struct DeadLetterTests {
  func letter(_ headers: [String: FieldValue], id: String? = "m", body: String = "{}") -> DeadLetter {
    DeadLetter(
      message: Message(headers: headers, messageID: id, type: "sms.dispatch.v1", body: Array(body.utf8)),
      queue: "sms.dispatch")
  }

  @Test func `The workers reason goes before the brokers`() {
    let death = FieldValue.array([.table(["reason": "delivery_limit", "time": .timestamp(1_782_907_200)])])
    #expect(letter(["x-death": death]).reason == "DELIVERY_LIMIT")
    #expect(letter(["x-death": death]).diedAt?.rfc3339 == "2026-07-01T12:00:00Z")
    #expect(letter(["x-death": death, "x-dead-reason": "NOT_JSON"]).reason == "NOT_JSON")
    #expect(letter([:]).reason == "UNKNOWN")
    // The broker calls it expired, which every delayed job is.
    let returned = FieldValue.array([
      .table(["reason": "expired", "queue": "countersign.retry.sms.dispatch.5s"]),
      .table(["reason": "rejected", "queue": "sms.dispatch"]),
    ])
    #expect(letter(["x-death": returned]).reason == "NO_QUEUE")
  }

  @Test func `A message without an ID is named by its contents`() {
    let one = letter([:], id: nil, body: "one")
    #expect(one.id == letter([:], id: nil, body: "one").id)
    #expect(one.id != letter([:], id: nil, body: "two").id)
    #expect(one.id.hasPrefix("body-"))
  }

  @Test func `A filter by type takes it with or without its version`() {
    #expect(DeadLetterFilter(type: "sms.dispatch").matches(letter([:])))
    #expect(DeadLetterFilter(type: "sms.dispatch.v1").matches(letter([:])))
    #expect(!DeadLetterFilter(type: "sms").matches(letter([:])))
  }

  @Test func `A filter by age needs a time`() throws {
    let noon = try #require(UnixTime(rfc3339: "2026-07-01T12:00:00Z"))
    let later = letter(["x-dead-at": "2026-07-01T12:00:01Z"])
    let earlier = letter(["x-dead-at": "2026-07-01T11:59:59Z"])
    #expect(!DeadLetterFilter(diedBefore: noon).matches(later))
    #expect(DeadLetterFilter(diedBefore: noon).matches(earlier))
    #expect(!DeadLetterFilter(diedBefore: noon).matches(letter([:])))
  }
}

@Suite struct RedactedJSONTests {
  static let body = """
    {"to": "+14155550123", "template": "verification", "languageCode": "pt-BR", "deadline": "2026-07-01T12:00:00Z",
     "variables": {"code": "654321", "appName": "Example"}, "text": "Your code is 654321", "code": 654321,
     "unheardOf": "4155550123", "list": ["654321"], "isFine": true, "attempts": 3}
    """

  @Test func `Nothing that could be a secret is shown`() throws {
    let shown = try #require(RedactedJSON.show(Array(Self.body.utf8), reveal: false))
    let text = "\(shown)"
    for secret in ["654321", "5550123", "Example"] { #expect(!text.contains(secret)) }
  }

  @Test func `Helpful fields are shown`() throws {
    guard case .object(let shown)? = RedactedJSON.show(Array(Self.body.utf8), reveal: false) else {
      return #expect(Bool(false), "not an object")
    }
    #expect(shown["template"] == .text("verification"))
    #expect(shown["deadline"] == .text("2026-07-01T12:00:00Z"))
    #expect(shown["to"] == .text("+1415•••••23"))
    #expect(shown["attempts"] == .integer(3))
    #expect(shown["isFine"] == .bool(true))
  }

  @Test func `All is shown on request`() throws {
    guard case .object(let shown)? = RedactedJSON.show(Array(Self.body.utf8), reveal: true) else {
      return #expect(Bool(false), "not an object")
    }
    #expect(shown["code"] == .integer(654_321))
  }

  @Test func `Bodies that are not JSON are not shown`() {
    #expect(RedactedJSON.show(Array("code 654321".utf8), reveal: false) == nil)
  }
}
