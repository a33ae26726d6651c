import CountersignAMQP
import TestSupport
import Testing

extension WithBroker {
  @Suite struct RoundTripTests {
    @Test func `Every property survives`() async throws {
      try await Broker.withQueue { queue, _ in
        var sent = Message(
          headers: [
            "x-attempt": 3, "flag": true, "ratio": .double(0.25), "text": "näme", "raw": .bytes([0, 1, 255]),
            "at": .timestamp(1_700_000_000), "list": .array([1, "two", .null]),
            "map": .table(["deep": .table(["n": 1])]),
            "none": .null, "empty": .table([:]), "negative": .int(.min),
          ],
          correlationID: "c", replyTo: "r", messageID: "m", type: "sms.dispatch.v1",
          userID: try Broker.endpoint().username, body: Array("{\"a\":1}".utf8))
        sent.contentType = "application/json"
        sent.contentEncoding = "identity"
        sent.priority = 4
        sent.expiration = "60000"
        sent.timestamp = 1_700_000_001
        sent.appID = "tests"
        try await withPublisher { [sent] publisher, _ in
          let outcome = try await publisher.publish(Publication(message: sent, exchange: "", routingKey: queue))
          #expect(outcome == .confirmed)
        }
        try await withConsumer(queue) { [sent] consumer, _ in
          let delivery = try #require(await consumer.next()?.first)
          #expect(delivery.message == sent)
          #expect(delivery.routingKey == queue)
          #expect(delivery.exchange == "")
          #expect(!delivery.isRedelivered && !delivery.isOversize)
          consumer.ack(delivery.tag)
        }
      }
    }

    @Test(arguments: [0, 1, 131_064, 131_065, 262_128, 1_000_000])
    func `Bodies of many frames survive`(_ count: Int) async throws {
      try await Broker.withQueue { queue, _ in
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await withPublisher { publisher, _ in
          let message = Message(messageID: "m", body: body)
          let outcome = try await publisher.publish(Publication(message: message, exchange: "", routingKey: queue))
          #expect(outcome == .confirmed)
        }
        try await withConsumer(queue) { consumer, _ in
          let delivery = try #require(await consumer.next()?.first)
          #expect(delivery.message.body == body)
          consumer.ack(delivery.tag)
        }
      }
    }

    @Test
    func `A consumer with a queue of its own gets what is published while it is there, also after a lost connection`()
      async throws
    {
      let exchange = "test.\(UInt64.random(in: 0...UInt64.max))"
      let log = EventLog()
      let consumer = Consumer(
        endpoint: try Broker.endpoint(), options: Broker.options("own"),
        subscription: Consumer.Subscription(
          own: Consumer.OwnQueue(exchange: exchange, routingKey: "keys.published", maxLength: 2), prefetch: 2),
        onEvent: log.add)
      try await withAdmin { admin in try await admin.declareExchange(exchange, type: "topic") }
      async let running: Void = consumer.run()
      for round in 1...2 {
        try await eventually("it consumes") { consumer.isReady }
        try await withAdmin { admin in
          for key in ["keys.other", "keys.published"] {
            let message = Message(messageID: "\(round)")
            _ = try await admin.publish(Publication(message: message, exchange: exchange, routingKey: key))
          }
        }
        let delivery = try #require(await consumer.next()?.first)
        #expect(delivery.message.messageID == "\(round)" && delivery.routingKey == "keys.published")
        consumer.ack(delivery.tag)
        guard round == 1 else { break }
        // The queue is gone with its connection, and another one takes its place.
        try Broker.ctl("close_all_connections", "test")
        try await eventually("the connection is lost") {
          log.contains { if case .disconnected = $0 { true } else { false } }
        }
      }
      await consumer.close()
      await running
      try await withAdmin { admin in try await admin.deleteExchange(exchange) }
    }

    private func withAdmin(_ body: (AdminConnection) async throws -> Void) async throws {
      let admin = try await AdminConnection.open(endpoint: Broker.endpoint(), options: Broker.options("admin"))
      try await body(admin)
      try await admin.close()
    }

    @Test func `A batch is consumed in order and acknowledged`() async throws {
      try await Broker.withQueue { queue, admin in
        let count = 3000
        try await withPublisher { publisher, _ in
          let batch = (0..<count).map { Publication(message: Message(id: "\($0)"), exchange: "", routingKey: queue) }
          let outcomes = try await publisher.publish(batch)
          #expect(outcomes == Array(repeating: .confirmed, count: count))
        }
        try await withConsumer(queue, prefetch: 50) { consumer, _ in
          var ids: [String] = []
          while ids.count < count, let deliveries = await consumer.next() {
            #expect(deliveries.count <= 50)
            for delivery in deliveries {
              ids.append(delivery.message.messageID ?? "")
              consumer.ack(delivery.tag)
            }
          }
          #expect(ids == (0..<count).map { "\($0)" })
        }
        // The close of the consumer proves that its acknowledgements were read.
        #expect(try await admin.declareQueue(queue, passive: true).messageCount == 0)
      }
    }

    @Test func `Rejected messages come back or go to the dead letter queue`() async throws {
      try await Broker.withQueue { dead, _ in
        let arguments: [String: FieldValue] = [
          "x-dead-letter-exchange": "", "x-dead-letter-routing-key": .string(dead),
        ]
        try await Broker.withQueue(arguments: arguments) { queue, admin in
          _ = try await admin.publish(Publication(message: Message(id: "1"), exchange: "", routingKey: queue))
          try await withConsumer(queue) { consumer, _ in
            let first = try #require(await consumer.next()?.first)
            consumer.reject(first.tag, requeue: true)
            let second = try #require(await consumer.next()?.first)
            #expect(second.isRedelivered)
            #expect(second.message.headers["x-delivery-count"]?.intValue == 1)
            consumer.reject(second.tag, requeue: false)
            try await eventually("the message is dead-lettered") {
              try await admin.declareQueue(dead, passive: true).messageCount == 1
            }
          }
        }
      }
    }

    @Test func `Requests are answered`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withConsumer(queue) { consumer, _ in
          try await withPublisher { publisher, _ in
            async let answering: Void = answer(consumer, publisher, count: 200)
            try await withRequestClient { client, _ in
              try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for number in 0..<200 {
                  group.addTask {
                    let reply = try await client.request(
                      Message(id: "q\(number)", "ask \(number)"), exchange: "", routingKey: queue, timeout: .seconds(20)
                    )
                    return (number, reply.text)
                  }
                }
                for try await (number, text) in group { #expect(text == "answer to ask \(number)") }
              }
            }
            try await answering
          }
        }
      }
    }

    @Test func `An unroutable request and a silent server are told apart`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withRequestClient { client, _ in
          func failure(_ exchange: String, _ key: String, _ timeout: Duration) async -> AMQPError? {
            await #expect(throws: AMQPError.self) {
              try await client.request(Message(id: "1"), exchange: exchange, routingKey: key, timeout: timeout)
            }
          }
          let unroutable = await failure("", "nobody.here", .seconds(10))
          #expect(unroutable?.code == .notFound)
          #expect(unroutable?.replyCode == 312)
          #expect(await failure("", queue, .milliseconds(300))?.code == .timedOut)
          #expect(await failure("no.such", "key", .seconds(10))?.code == .notFound)
        }
      }
    }
  }
}
