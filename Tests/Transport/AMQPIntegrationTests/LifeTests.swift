import CountersignAMQP
import TestSupport
import Testing

extension WithBroker {
  @Suite struct LifeTests {
    @Test func `A memory alarm blocks publishers and nothing else`()
      async throws
    {
      try await Broker.withQueue { queue, admin in
        _ = try await admin.publish(Publication(message: Message(id: "before"), exchange: "", routingKey: queue))
        // A confirm is late long before the alarm ends.
        var options = Broker.options("publisher")
        options.confirmTimeout = .seconds(1)
        try await withPublisher(options: options) { publisher, log in
          try await eventually("the publisher is ready") { publisher.isReady }
          try Broker.ctl("set_vm_memory_high_watermark", "0.0001")
          defer { #expect(throws: Never.self) { try Broker.ctl("set_vm_memory_high_watermark", "0.4") } }
          let publishing = Task {
            try await publisher.publish(
              (0..<500).map { Publication(message: Message(id: "\($0)"), exchange: "", routingKey: queue) })
          }
          try await eventually("the block is reported") { publisher.status.phase == .blocked }
          #expect(log.contains { if case .blocked = $0 { true } else { false } })
          #expect(!publisher.isReady)
          try await withConsumer(queue) { consumer, _ in
            let delivery = try #require(await consumer.next()?.first)
            #expect(delivery.message.messageID == "before")
            consumer.ack(delivery.tag)
            // Longer than two heartbeats: a blocked connection is not a dead one.
            let busy = processorTime()
            try await Task.sleep(for: .seconds(5))
            #expect(processorTime() - busy < .seconds(1))
            #expect(publisher.status.phase == .blocked)
            try Broker.ctl("set_vm_memory_high_watermark", "0.4")
            let settled = try await publishing.value
            #expect(settled.allSatisfy { $0 == .confirmed })
          }
          #expect(log.contains { $0 == .unblocked })
          #expect(!log.contains { if case .disconnected = $0 { true } else { false } })
          #expect(publisher.isReady)
        }
      }
    }

    @Test func `A publisher that is blocked stops all the same`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withPublisher { publisher, _ in
          try await eventually("the publisher is ready") { publisher.isReady }
          try Broker.ctl("set_vm_memory_high_watermark", "0.0001")
          defer { #expect(throws: Never.self) { try Broker.ctl("set_vm_memory_high_watermark", "0.4") } }
          async let outcome = publisher.publish(
            Publication(message: Message(id: "1"), exchange: "", routingKey: queue))
          try await eventually("the block is reported") { publisher.status.phase == .blocked }
          let start = ContinuousClock.now
          await publisher.stop(ceiling: .seconds(1))
          #expect(start.duration(to: .now) < .seconds(30))
          do {
            let settled = try await outcome
            Issue.record("\(settled)")
          } catch let error as AMQPError {
            #expect(error.code == .closed)
          }
        }
      }
    }

    @Test func `Idle connections live`() async throws {
      try await Broker.withQueue { queue, admin in
        try await withPublisher { publisher, publisherLog in
          try await withConsumer(queue) { consumer, consumerLog in
            try await Task.sleep(for: .seconds(7))
            #expect(publisher.isReady && consumer.isReady)
            #expect(try publisherLog.all == [.connected(Broker.host())])
            #expect(try consumerLog.all == [.connected(Broker.host())])
            // The tool's connection was idle as well.
            #expect(try await admin.declareQueue(queue, passive: true).consumerCount == 1)
          }
        }
      }
    }

    @Test func `A paused consumer leaves messages in the queue`() async throws {
      try await Broker.withQueue { queue, admin in
        try await withConsumer(queue, prefetch: 2) { consumer, _ in
          try await eventually("the consumer is ready") { consumer.isReady }
          await consumer.pause()
          #expect(consumer.status.phase == .paused)
          for number in 0..<3 {
            _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
          }
          let declared = try await admin.declareQueue(queue, passive: true)
          #expect(declared.messageCount == 3)
          #expect(declared.consumerCount == 0)
          // A connection that comes up meanwhile does not consume either.
          try Broker.ctl("close_all_connections", "test")
          try await eventually("the connection is back") { consumer.status.phase == .paused }
          await consumer.resume()
          var ids: [String] = []
          while ids.count < 3, let deliveries = await consumer.next() {
            ids += deliveries.compactMap(\.message.messageID)
            consumer.ack(deliveries.map(\.tag))
          }
          #expect(ids == ["0", "1", "2"])
        }
      }
    }

    @Test func `A consumer that steps aside returns all that is not acknowledged, on the same connection`() async throws
    {
      try await Broker.withQueue { queue, admin in
        try await withConsumer(queue, prefetch: 10) { consumer, log in
          for number in 0..<10 {
            _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
          }
          var deliveries: [Delivery] = []
          while deliveries.count < 10, let more = await consumer.next() { deliveries += more }
          consumer.ack(deliveries[1].tag)
          await consumer.stepAside()
          #expect(consumer.status.phase == .paused && !deliveries.contains { consumer.isLive($0.tag) })
          // Nothing of it can be settled: others have it.
          consumer.ack(deliveries.map(\.tag))
          try await eventually("all but the acknowledged one are in the queue") {
            try await admin.declareQueue(queue, passive: true).messageCount == 9
          }
          var seen = Set<String>()
          try await withConsumer(queue, prefetch: 4) { other, _ in
            let taken = try #require(await other.next())
            #expect(taken.filter(\.isRedelivered).count == taken.count)
            other.ack(taken.map(\.tag))
            seen.formUnion(taken.compactMap(\.message.messageID))
          }
          await consumer.resume()
          while seen.count < 9 {
            let more = try #require(await consumer.next())
            seen.formUnion(more.compactMap(\.message.messageID))
            consumer.ack(more.map(\.tag))
          }
          #expect(seen == Set((0..<10).map(String.init)).subtracting(["1"]))
          #expect(try log.all == [.connected(Broker.host())])
        }
      }
    }

    @Test func `A stopped consumer hands out what has arrived and returns the rest`() async throws {
      try await Broker.withQueue { queue, admin in
        for number in 0..<20 {
          _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
        }
        try await withConsumer(queue, prefetch: 10) { consumer, _ in
          try await eventually("the prefetch is used up") {
            try await admin.declareQueue(queue, passive: true).messageCount == 10
          }
          await consumer.stopConsuming()
          let deliveries = try #require(await consumer.next())
          #expect(deliveries.count == 10)
          #expect(await consumer.next() == nil)
          consumer.ack(deliveries.prefix(6).map(\.tag))
          for delivery in deliveries.dropFirst(6) { consumer.reject(delivery.tag, requeue: true) }
        }
        try await eventually("what was handed back is in the queue") {
          try await admin.declareQueue(queue, passive: true).messageCount == 14
        }
      }
    }

    @Test func `Outstanding publishes are confirmed before a stop`()
      async throws
    {
      try await Broker.withQueue { queue, admin in
        let log = EventLog()
        let publisher = Publisher(
          endpoint: try Broker.endpoint(), options: Broker.options("publisher"), onEvent: log.add)
        async let running: Void = publisher.run()
        async let outcomes = publisher.publish(
          (0..<5000).map { Publication(message: Message(id: "\($0)"), exchange: "", routingKey: queue) })
        try await eventually("some have arrived") {
          try await admin.declareQueue(queue, passive: true).messageCount > 0
        }
        await publisher.stop()
        await running
        let settled = try await outcomes
        #expect(settled.allSatisfy { $0 == .confirmed })
        #expect(try log.all == [.connected(Broker.host()), .stopped])
        #expect(publisher.status.phase == .stopped)
        let error = await #expect(throws: AMQPError.self) {
          try await publisher.publish(Publication(message: Message(id: "late"), exchange: "", routingKey: queue))
        }
        #expect(error?.code == .closed)
      }
    }

    @Test func `Waits end with their time out or task`() async throws {
      var endpoint = try Broker.endpoint()
      endpoint.hosts = [BrokerHost("127.0.0.1", port: 1)]
      try await withPublisherThatCannotConnect(endpoint) { publisher in
        let publication = Publication(message: Message(id: "1"), exchange: "", routingKey: "q")
        let late = await #expect(throws: AMQPError.self) {
          try await publisher.publish(publication, timeout: .milliseconds(100))
        }
        #expect(late?.code == .timedOut)
        let task = Task { await #expect(throws: AMQPError.self) { try await publisher.publish(publication) } }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        #expect(await task.value?.code == .canceled)
        var large = publication
        large.message.body = [UInt8](repeating: 0, count: 5 << 20)
        let oversize = large
        let tooLarge = await #expect(throws: AMQPError.self) { try await publisher.publish(oversize) }
        #expect(tooLarge?.code == .tooLarge)
        #expect(publisher.status.lastError?.code == .connectFailed)
      }
    }

    private func withPublisherThatCannotConnect(
      _ endpoint: BrokerEndpoint, _ body: (Publisher) async throws -> Void
    ) async throws {
      let publisher = Publisher(endpoint: endpoint, options: Broker.options("nowhere")) { _ in }
      let running = Task { await publisher.run() }
      try await body(publisher)
      running.cancel()
      await running.value
      // A canceled run does not wait for the connection's queue.
      try await eventually("the publisher is stopped") { publisher.status.phase == .stopped }
    }

    @Test func `An oversize body is delivered without being kept`()
      async throws
    {
      try await Broker.withQueue { queue, admin in
        for size in [10, 300_000, 20] {
          let message = Message(
            headers: ["x-attempt": 1], messageID: "\(size)", body: [UInt8](repeating: 1, count: size))
          _ = try await admin.publish(Publication(message: message, exchange: "", routingKey: queue))
        }
        var options = Broker.options("consumer")
        options.maxBodyBytes = 1000
        try await withConsumer(queue, options: options) { consumer, _ in
          var deliveries: [Delivery] = []
          while deliveries.count < 3, let more = await consumer.next() { deliveries += more }
          #expect(deliveries.map(\.isOversize) == [false, true, false])
          #expect(deliveries.map(\.message.body.count) == [10, 0, 20])
          #expect(deliveries.map(\.bodyBytes) == [10, 300_000, 20])
          #expect(deliveries[1].message.headers == ["x-attempt": 1])
          consumer.ack(deliveries.map(\.tag))
        }
      }
    }
  }
}
