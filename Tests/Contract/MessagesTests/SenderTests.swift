import CountersignAMQP
import CountersignMessages
import Testing

@Suite struct SenderTests {
  @Test(
    arguments: [
      ("service", nil, "service"), ("service", "coordinator", "service"), ("coordinator", nil, "coordinator"),
      ("sms-worker", "service", "service"), ("sms-worker", nil, "sms-worker"), ("operator", "service", "service"),
      ("operator", nil, "operator"), (nil, "coordinator", "unnamed"), (nil, nil, "unnamed"), ("", "a", "unnamed"),
      ("mail-worker", "coordinator", "mail-worker"), ("sms-worker", "unnamed", "unnamed"),
      ("sms-worker", "", "unnamed"),
    ] as [(String?, String?, String)])
  func `x-sender is trusted only from the queue's consumer and the operator`(
    user: String?, stated: String?, sender: String
  ) throws {
    let rule = SenderRule.queue(consumedBy: "sms-worker")
    #expect(rule.sender(userID: user, stated: stated) == sender)
    var message = Envelope(type: SMSDispatchJob.type, messageID: "m").message(body: [])
    message.userID = user
    message.headers[MessageHeader.sender] = stated.map { .string($0) }
    #expect(rule.sender(of: message) == sender)
    #expect(rule.sender(of: try Envelope(message)) == sender)
  }

  @Test func `Of a result the worker of the job's type is believed`() {
    let rule = SenderRule.result(reportedBy: ["sms-worker", "sms-2"])
    #expect(rule.sender(userID: "sms-2", stated: "coordinator") == "coordinator")
    #expect(rule.sender(userID: "mail-worker", stated: "coordinator") == "mail-worker")
  }

  @Test func `A stated sender that cannot be a user's name is unnamed`() {
    let rule = SenderRule.queue(consumedBy: "w")
    for value in [.int(7), .bytes([0xFF]), "", "a\u{1F}b", .string(String(repeating: "x", count: 256))] as [FieldValue]
    {
      #expect(rule.sender(of: Message(headers: ["x-sender": value], userID: "w")) == "unnamed")
      #expect(rule.sender(of: Message(headers: ["x-sender": value], userID: "service")) == "service")
    }
    for value in ["a\u{1F}b", .bytes([0xFF]), .string(String(repeating: "x", count: 256))] as [FieldValue] {
      var message = Envelope(type: SMSDispatchJob.type, messageID: "m").message(body: [])
      message.headers["x-sender"] = value
      #expect(throws: ContractProblem.self) { try Envelope(message) }
    }
  }

  @Test func `A republished message names its first sender and goes out as our own user`() throws {
    let rule = SenderRule.queue(consumedBy: "w")
    var message = Envelope(type: SMSDispatchJob.type, messageID: "m", userID: "service").message(body: [])
    message.headers["x-sender"] = "coordinator"
    for _ in 0..<3 {
      message = message.publishedAgain(by: "w", sender: rule.sender(of: message))
      #expect(message.userID == "w" && message.headers["x-sender"] == "service")
    }
  }

  @Test(
    arguments: [
      ("amq.rabbitmq.reply-to", "unnamed", true), ("amq.rabbitmq.reply-to.g1h2.x", "service", true),
      ("amq.gen-JzTY20BRgKO", "unnamed", true), ("countersign.reply.service.1", "service", true),
      ("countersign.reply.service.1", "sender", false), ("countersign.reply.service.1", "unnamed", false),
      ("countersign.reply.unnamed.1", "unnamed", false), ("countersign.reply.service", "service", false),
      ("countersign.reply.a.b.c", "a", true), ("countersign.reply.a.b.c", "a.b", false),
      ("accounts.replies", "accounts", true), ("accounts.replies", "service", false),
      ("coordinator.results", "service", false), ("sms.dispatch", "operator", false), ("x", "service", false),
    ])
  func `Queues that may be named in reply_to`(queue: String, sender: String, isAllowed: Bool) {
    #expect(ReplyAddress.isAllowed(queue, for: sender) == isAllowed)
    if isAllowed {
      #expect(throws: Never.self) { try ReplyAddress.check(queue, of: sender) }
    } else {
      #expect { try ReplyAddress.check(queue, of: sender) } throws: {
        ($0 as? ContractProblem)?.code == .invalidReplyTo
      }
    }
  }

  @Test func `The ID of another sender, or of another type of job, is another message`() {
    let one = MessageIdentity(sender: "service", messageID: "m.1")
    #expect(one.key != MessageIdentity(sender: "coordinator", messageID: "m.1").key)
    #expect(one.key(ofJob: SMSDispatchJob.type) != one.key(ofJob: MailRelayJob.type))
    #expect(MessageIdentity(key: one.key) == one)
    #expect(MessageIdentity(key: one.key(ofJob: SMSDispatchJob.type)) == one)
    #expect(MessageIdentity(key: "m.1") == MessageIdentity(sender: "unnamed", messageID: "m.1"))
  }
}
