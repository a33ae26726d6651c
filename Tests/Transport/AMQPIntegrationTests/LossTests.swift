import CountersignAMQP
import Foundation
import Synchronization
import TestSupport
import Testing

extension WithBroker {
  @Suite struct LossTests {
    private func survive(
      endpoint: BrokerEndpoint? = nil, count: Int = 4000, sourceLocation: SourceLocation = #_sourceLocation,
      _ trouble: (Publisher, Consumer) async throws -> Void
    ) async throws {
      try await Broker.withQueue { queue, _ in
        try await withConsumer(queue, endpoint: endpoint) { consumer, consumerLog in
          try await withPublisher(endpoint: endpoint, maxOutstanding: 64) { publisher, publisherLog in
            async let consumed = consume(consumer, count)
            async let published: Void = publish(publisher, queue, count, sourceLocation)
            try await trouble(publisher, consumer)
            try await published
            let ids = await consumed
            #expect(ids == Set((0..<count).map { "\($0)" }), sourceLocation: sourceLocation)
            let isLost = { (event: ConnectionEvent) in if case .disconnected = event { true } else { false } }
            #expect(
              publisherLog.contains(isLost) && consumerLog.contains(isLost), sourceLocation: sourceLocation)
            try await eventually("both are ready again") {
              publisher.isReady && consumer.isReady
            }
          }
        }
      }
    }

    private func publish(
      _ publisher: Publisher, _ queue: String, _ count: Int, _ sourceLocation: SourceLocation
    ) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for first in 0..<8 {
          group.addTask {
            for number in stride(from: first, to: count, by: 8) {
              let outcome = try await publisher.publish(
                Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
              #expect(outcome == .confirmed, sourceLocation: sourceLocation)
              if number % 80 == first { try await Task.sleep(for: .milliseconds(5)) }
            }
          }
        }
        try await group.waitForAll()
      }
    }

    private func consume(_ consumer: Consumer, _ count: Int) async -> Set<String> {
      var ids: Set<String> = []
      while ids.count < count, let deliveries = await consumer.next() {
        for delivery in deliveries {
          ids.insert(delivery.message.messageID ?? "")
          consumer.ack(delivery.tag)
        }
      }
      return ids
    }

    @Test func `An operator closes all connections`() async throws {
      try await survive { _, _ in
        for _ in 0..<3 {
          try await Task.sleep(for: .milliseconds(300))
          try Broker.ctl("close_all_connections", "test")
        }
      }
    }

    @Test func `The broker restarts`() async throws {
      try await survive { publisher, _ in
        try await Task.sleep(for: .milliseconds(200))
        try Broker.ctl("stop_app")
        try await eventually("the publisher notices") { !publisher.isReady }
        try await Task.sleep(for: .seconds(1))
        try Broker.ctl("start_app")
      }
    }

    @Test func `The network resets connections`() async throws {
      try await withProxy { proxy, endpoint in
        try await survive(endpoint: endpoint) { _, _ in
          for _ in 0..<5 {
            try await Task.sleep(for: .milliseconds(150))
            proxy.reset()
          }
        }
      }
    }

    @Test func `The network falls silent`() async throws {
      try await withProxy { proxy, endpoint in
        try await survive(endpoint: endpoint) { publisher, consumer in
          try await Task.sleep(for: .milliseconds(200))
          proxy.change { $0.downstream = .freeze }
          // Two heartbeats of 2 s and a little.
          try await eventually("both notice") { !publisher.isReady && !consumer.isReady }
          proxy.change { $0.downstream = .forward }
        }
      }
    }

    @Test func `Confirms that are lost make the publishes go out again`()
      async throws
    {
      try await Broker.withQueue { queue, admin in
        try await withProxy { proxy, endpoint in
          try await withPublisher(endpoint: endpoint) { publisher, _ in
            try await eventually("the publisher is ready") { publisher.isReady }
            // basic.ack
            proxy.change { $0.downstream = .swallow(classID: 60, methodID: 80) }
            async let outcomes = publisher.publish(
              (0..<100).map { Publication(message: Message(id: "\($0)"), exchange: "", routingKey: queue) })
            try await eventually("the broker has them") {
              try await admin.declareQueue(queue, passive: true).messageCount == 100
            }
            proxy.change { $0.downstream = .forward }
            proxy.reset()
            let settled = try await outcomes
            #expect(settled.allSatisfy { $0 == .confirmed })
            #expect(try await admin.declareQueue(queue, passive: true).messageCount == 200)
            var ids: [String: Int] = [:]
            while let (delivery, _) = try await admin.get(queue) {
              ids[delivery.message.messageID ?? "", default: 0] += 1
              try await admin.ack(delivery.tag)
            }
            #expect(ids == Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", 2) }))
          }
        }
      }
    }

    @Test func `A publish that is never confirmed costs the connection`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withProxy { proxy, endpoint in
          var options = Broker.options("publisher")
          options.confirmTimeout = .seconds(1)
          try await withPublisher(endpoint: endpoint, options: options) { publisher, log in
            try await eventually("the publisher is ready") { publisher.isReady }
            proxy.change { $0.downstream = .swallow(classID: 60, methodID: 80) }
            async let outcome = publisher.publish(
              Publication(message: Message(id: "1"), exchange: "", routingKey: queue))
            try await eventually("the connection is given up") { log.lastError?.code == .timedOut }
            proxy.change { $0.downstream = .forward }
            let settled = try await outcome
            #expect(settled == .confirmed)
          }
        }
      }
    }

    @Test func `A peer that reads nothing does not hang the publisher`()
      async throws
    {
      try await Broker.withQueue { queue, _ in
        try await withProxy { proxy, endpoint in
          // Heartbeats alone would notice as well, later: this is about the watchdog.
          var options = Broker.options("publisher")
          options.heartbeat = .seconds(60)
          options.publishStallTimeout = .seconds(2)
          try await withPublisher(endpoint: endpoint, options: options) { publisher, log in
            try await eventually("the publisher is ready") { publisher.isReady }
            proxy.change { $0.stopsReading = true }
            let large = Message(messageID: "large", body: [UInt8](repeating: 1, count: 4 << 20))
            async let outcomes = publisher.publish(
              (0..<4).map { _ in Publication(message: large, exchange: "", routingKey: queue) })
            try await eventually("the call is ended") { log.lastError?.code == .timedOut }
            proxy.change { $0.stopsReading = false }
            let settled = try await outcomes
            #expect(settled.allSatisfy { $0 == .confirmed })
          }
        }
      }
    }

    @Test func `A queue that is deleted is consumed again when it is back`() async throws {
      try await Broker.withQueue { queue, admin in
        try await withConsumer(queue) { consumer, log in
          try await eventually("the consumer is ready") { consumer.isReady }
          try await admin.deleteQueue(queue)
          try await eventually("the missing queue is reported") { consumer.status.lastError?.code == .notFound }
          #expect(log.contains { $0 == .consumerCanceled(queue: queue) })
          try await admin.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
          _ = try await admin.publish(Publication(message: Message(id: "1"), exchange: "", routingKey: queue))
          let delivery = try #require(await consumer.next()?.first)
          consumer.ack(delivery.tag)
        }
      }
    }

    @Test func `A consumer that gets nothing from a full queue is built anew`() async throws {
      try await Broker.withQueue { queue, admin in
        for number in 0..<10 {
          _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
        }
        try await withProxy { proxy, endpoint in
          // basic.deliver
          proxy.change { $0.downstream = .swallow(classID: 60, methodID: 60) }
          try await withConsumer(queue, prefetch: 4, endpoint: endpoint, stallTimeout: .seconds(1)) { consumer, log in
            try await eventually("the stall is noticed") { log.contains { $0 == .consumerStalled(queue: queue) } }
            try await eventually("the connection is given up for it") { log.lastError?.code == .consumerStalled }
            proxy.change { $0.downstream = .forward }
            var ids: Set<String> = []
            while ids.count < 10, let deliveries = await consumer.next() {
              for delivery in deliveries {
                ids.insert(delivery.message.messageID ?? "")
                consumer.ack(delivery.tag)
              }
            }
            #expect(ids.count == 10)
          }
        }
      }
    }

    /// RabbitMQ before 3.11 does so after a message hit its delivery limit.
    @Test func `A broker that sends more than the prefetch is left`()
      async throws
    {
      try await Broker.withQueue { queue, admin in
        for number in 0..<20 {
          _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
        }
        try await withProxy { proxy, endpoint in
          proxy.change { $0.prefetch = 10 }
          try await withConsumer(queue, prefetch: 4, endpoint: endpoint) { consumer, log in
            try await eventually("the excess is noticed") { log.lastError?.code == .protocolViolation }
            proxy.change { $0.prefetch = nil }
            var ids: Set<String> = []
            while ids.count < 20, let deliveries = await consumer.next() {
              #expect(deliveries.count <= 4)
              ids.formUnion(deliveries.compactMap(\.message.messageID))
              consumer.ack(deliveries.map(\.tag))
            }
            #expect(ids.count == 20)
          }
        }
      }
    }

    @Test func `Connections that come and go leave nothing open`()
      async throws
    {
      func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
      try await Broker.withQueue { queue, _ in
        try await withProxy { proxy, endpoint in
          try await withConsumer(queue, endpoint: endpoint) { consumer, log in
            try await eventually("the consumer is ready") { consumer.isReady }
            for round in 2...20 {
              proxy.reset()
              try await eventually("the connection is back") { proxy.accepted >= round && consumer.isReady }
            }
            // The proxy keeps two sockets a connection; the consumer may keep one, and Dispatch one or two of its own.
            let before = try descriptors()
            for round in 21...40 {
              proxy.reset()
              try await eventually("the connection is back") { proxy.accepted >= round && consumer.isReady }
            }
            #expect(try descriptors() - before <= 2 * (proxy.accepted - 20) + 2)
          }
        }
      }
    }

    @Test func `A request is sent again when its reply is lost`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withProxy { proxy, endpoint in
          try await withConsumer(queue) { consumer, _ in
            try await withPublisher { publisher, _ in
              let client = RequestClient(endpoint: endpoint, options: Broker.options("requests")) { _ in }
              async let running: Void = client.run()
              async let reply = client.request(
                Message(id: "q"), exchange: "", routingKey: queue, timeout: .seconds(20))
              let first = try #require(await consumer.next()?.first)
              consumer.ack(first.tag)
              proxy.reset()
              let second = try #require(await consumer.next()?.first)
              #expect(second.message.messageID == "q")
              #expect(second.message.replyTo != first.message.replyTo)
              _ = try await publisher.publish(
                Publication(
                  message: Message(correlationID: second.message.correlationID, body: [7]), exchange: "",
                  routingKey: second.message.replyTo ?? ""))
              consumer.ack(second.tag)
              let settled = try await reply
              #expect(settled.body == [7])
              await client.stop()
              await running
            }
          }
        }
      }
    }
  }
}
