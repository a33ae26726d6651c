import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Testing

@Suite struct EnvelopeTests {
  static let trace = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

  private var full: Envelope {
    var envelope = Envelope(
      type: SMSDispatchJob.type, messageID: "m", correlationID: "c", replyTo: "r", timestamp: UnixTime(seconds: 100),
      appID: "coordinator", userID: "u", trace: Self.trace)
    envelope.attempt = 3
    envelope.firstAttemptAt = UnixTime(milliseconds: 99_500)
    envelope.lastError = "e"
    envelope.causationID = "cause"
    return envelope
  }

  private func problem(_ change: (inout Message) -> Void) -> ContractProblem? {
    var message = full.message(body: Array("{}".utf8))
    change(&message)
    do {
      _ = try Envelope(message)
      return nil
    } catch {
      return error
    }
  }

  @Test func `Survives the round trip`() throws {
    let message = full.message(body: [1])
    #expect(message.type == "sms.dispatch.v1")
    #expect(message.contentType == "application/json")
    #expect(message.isPersistent)
    #expect(message.timestamp == 100)
    #expect(message.headers["x-attempt"] == .int(3))
    #expect(message.headers["x-first-attempt-at"] == .string("1970-01-01T00:01:39.500Z"))
    #expect(try Envelope(message) == full)
  }

  @Test func `Republished messages do not carry the senders user`() {
    #expect(full.message(body: []).userID == "u")
    #expect(full.nextAttempt(after: "e", startedAt: UnixTime(seconds: 1)).userID == nil)
    #expect(
      full.leading(
        to: SMSDispatchJob.type, messageID: "n", at: UnixTime(seconds: 1), by: Author(appID: "a", userID: "w")
      )
      .userID == "w")
  }

  @Test func `A stock client needs little`() throws {
    var message = Message(messageID: "m", type: "sms.dispatch.v1")
    message.contentType = "Application/JSON; charset=utf-8"
    message.contentEncoding = "utf-8"
    #expect(try Envelope(message) == Envelope(type: SMSDispatchJob.type, messageID: "m"))
  }

  @Test func `The first attempt has no headers`() {
    #expect(Envelope(type: SMSDispatchJob.type, messageID: "m").message(body: []).headers.isEmpty)
  }

  @Test func `Breaches of the envelope are refused`() {
    #expect(problem { $0.contentType = nil }?.code == .wrongContentType)
    #expect(problem { $0.contentType = "text/plain" }?.code == .wrongContentType)
    #expect(problem { $0.contentType = "application/jsonp" }?.code == .wrongContentType)
    #expect(problem { $0.contentEncoding = "gzip" }?.field == "content_encoding")
    #expect(problem { $0.type = nil }?.code == .unknownType)
    #expect(problem { $0.type = "sms" }?.code == .unknownType)
    #expect(problem { $0.messageID = nil }?.code == .missingMessageID)
    #expect(problem { $0.messageID = "" }?.code == .missingMessageID)
    #expect(problem { $0.body = Array(repeating: 0, count: 64 * 1024 + 1) }?.code == .bodyTooLarge)
    #expect(problem { $0.headers["x-attempt"] = "2" }?.field == "headers.x-attempt")
    #expect(problem { $0.headers["x-attempt"] = 0 }?.field == "headers.x-attempt")
    #expect(problem { $0.headers["x-first-attempt-at"] = "soon" }?.field == "headers.x-first-attempt-at")
    #expect(problem { $0.headers["traceparent"] = "nonsense" } == nil)
    #expect(problem { $0.headers["x-first-attempt-at"] = .timestamp(5) } == nil)
  }

  /// The broker lets such messages pass.
  @Test(
    arguments: [
      "message_id", "correlation_id", "reply_to", "type", "content_type", "content_encoding", "app_id", "user_id",
      "expiration",
    ])
  func `A property that is not UTF-8 is named`(name: String) {
    let problem = problem { $0.malformedProperties = [name, "headers"] }
    #expect(problem == ContractProblem(.invalidField, field: name, "is not UTF-8"))
  }

  @Test(arguments: ["a\0", "a\n", "\u{1B}[0m", "a\u{7F}", "a\u{85}b"])
  func `IDs have no control characters`(text: String) {
    let expected = { (field: String) in
      ContractProblem(.invalidField, field: field, "holds a control character")
    }
    #expect(problem { $0.messageID = text } == expected("message_id"))
    #expect(problem { $0.correlationID = text } == expected("correlation_id"))
    #expect(problem { $0.replyTo = text } == expected("reply_to"))
    #expect(problem { $0.appID = text } == expected("app_id"))
    #expect(problem { $0.headers["x-causation-id"] = .string(text) } == expected("headers.x-causation-id"))
    #expect(problem { $0.headers["x-last-error"] = .string(text) } == nil)
    #expect(problem { $0.messageID = "a \u{A0}é🔐" } == nil)
  }

  @Test func `IDs are no longer than AMQP takes`() {
    let long = String(repeating: "é", count: 128)
    for (field, change) in [
      ("message_id", { (message: inout Message) in message.messageID = long }),
      ("correlation_id", { $0.correlationID = long }), ("reply_to", { $0.replyTo = long }),
      ("app_id", { $0.appID = long }), ("headers.x-causation-id", { $0.headers["x-causation-id"] = .string(long) }),
    ] {
      #expect(problem(change) == ContractProblem(.invalidField, field: field, "is longer than 255 bytes"))
    }
    #expect(problem { $0.messageID = String(repeating: "x", count: 255) } == nil)
  }

  @Test func `Headers that could not be published again`() {
    var deep = FieldValue.null
    for _ in 0..<16 { deep = .table(["a": deep]) }
    #expect(problem { $0.headers["x"] = deep }?.field == "headers")
    #expect(problem { $0.headers["x"] = .bytes(Array(repeating: 0, count: 33_000)) }?.field == "headers")
    #expect(problem { $0.headers["x"] = .bytes(Array(repeating: 0, count: 32_000)) } == nil)
    #expect(problem { $0.malformedProperties = ["headers"] }?.description == "headers has a name that is not UTF-8")
    #expect(problem { $0.headers["x-causation-id"] = .bytes([0xFF]) }?.field == "headers.x-causation-id")
    #expect(problem { $0.headers["x-last-error"] = .bytes([0xFF]) }?.field == "headers.x-last-error")
    // W3C Trace Context has such a one ignored.
    #expect(problem { $0.headers["traceparent"] = .bytes([0xFF]) } == nil)
  }

  @Test func `A dead letter always fits`() throws {
    var message = full.message(body: [1])
    message.userID = "somebody"
    message.expiration = "1000"
    message.headers["CC"] = .array(["elsewhere"])
    message.headers["x-death"] = .array([])
    message.headers["mine"] = 1
    var letter = message.deadLetter(
      "R", String(repeating: "long ", count: 999), queue: "q", now: UnixTime(seconds: 9),
      by: "worker", sender: "somebody")
    #expect(letter.headers["x-dead-reason"] == "R" && letter.headers["x-dead-queue"] == "q")
    #expect(letter.headers["x-dead-at"] == "1970-01-01T00:00:09Z")
    #expect(letter.headers["mine"] == 1 && letter.headers["x-attempt"] == 3)
    #expect(letter.headers["CC"] == nil && letter.headers["x-death"] == nil)
    #expect(letter.userID == "worker" && letter.headers["x-sender"] == "somebody")
    #expect(letter.expiration == nil && letter.messageID == "m" && letter.replyTo == "r")
    var deep = FieldValue.null
    for _ in 0..<16 { deep = .array([deep]) }
    for header in [deep, .string(String(repeating: "x", count: 65_000))] {
      message.headers["x"] = header
      letter = message.deadLetter("R", "text", queue: "q", now: UnixTime(seconds: 9), by: "worker", sender: "somebody")
      #expect(letter.headers.count == 5)
      try Publication(message: letter, exchange: "dead", routingKey: "q").check(maxBodyBytes: 64 * 1024)
    }
  }

  @Test func `Improper reply queues get no answer`() {
    #expect(Message(replyTo: "amq.gen-r").answerAddress(for: "service") == "amq.gen-r")
    for address in [nil, "", "amq.gen-a\nb", "amq.gen-a\0", "r", "amq.gen-" + String(repeating: "r", count: 255)] {
      #expect(Message(replyTo: address).answerAddress(for: "service") == nil)
    }
  }

  @Test func `Types are expected`() throws {
    let known = [SMSDispatchJob.type]
    try full.expect(known)
    var other = full
    other.type = MessageType("sms.dispatch", version: 2)
    #expect(
      throws: ContractProblem(
        .unknownVersion, field: "type", "has an unsupported version; supported are sms.dispatch.v1")
    ) {
      try other.expect(known)
    }
    other.type = MessageType("push.verify")
    #expect(throws: ContractProblem(.unknownType, field: "type", "must be one of sms.dispatch.v1")) {
      try other.expect(known)
    }
  }

  @Test func `The next attempt remembers the first`() {
    let first = Envelope(type: SMSDispatchJob.type, messageID: "m")
    let second = first.nextAttempt(after: "busy", startedAt: UnixTime(seconds: 1))
    let third = second.nextAttempt(after: "busier", startedAt: UnixTime(seconds: 2))
    #expect(third.attempt == 3)
    #expect(third.firstAttemptAt == UnixTime(seconds: 1))
    #expect(third.lastError == "busier")
    #expect(third.messageID == "m")
  }

  @Test func `Following messages keep the trace`() {
    let next = full.leading(
      to: ErrorReply.type, messageID: "n", at: UnixTime(seconds: 7),
      by: Author(appID: "sms-worker", userID: "sms-worker"))
    #expect(next.correlationID == "c")
    #expect(next.causationID == "m")
    #expect(next.trace?.traceID == Self.trace?.traceID)
    #expect(next.trace?.parentID != Self.trace?.parentID)
    #expect(next.replyTo == nil)
    #expect(next.attempt == 1)
  }

  @Test(arguments: [true, false]) func `The envelope of a waiting command survives`(isFull: Bool) throws {
    let envelope =
      isFull
      ? Envelope(
        type: MessageType("note.put", version: 2), messageID: "m", correlationID: "c", replyTo: "q", userID: "u",
        trace: Self.trace) : Envelope(type: MessageType("note.put"), messageID: "m")
    #expect(try Envelope(fields: envelope.fields()) == envelope)
  }

  @Test func `Long errors are cut between characters`() {
    let text = MessageHeader.bounded(String(repeating: "é", count: 300))
    #expect(text.utf8.count <= 512)
    #expect(text.hasSuffix("é…"))
    #expect(MessageHeader.bounded("short") == "short")
    let accents = MessageHeader.bounded("a" + String(repeating: "\u{301}", count: 10_000))
    #expect((500...512).contains(accents.utf8.count), "one character of 20 KB")
  }

  @Test func `Message i ds differ`() {
    #expect(MessageID.make().utf8.count == 32)
    #expect(MessageID.make() != MessageID.make())
  }

  /// The example of RFC 9562, appendix A.6, is of the same time.
  @Test func `Message i ds are UUI ds of version7`() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      let id = Array(MessageID.make(at: UnixTime(milliseconds: 0x017F_22E2_79B0), using: &random))
      #expect(String(id[..<12]) == "017f22e279b0")
      #expect(id[12] == "7")
      #expect("89ab".contains(id[16]))
    }
  }
}
