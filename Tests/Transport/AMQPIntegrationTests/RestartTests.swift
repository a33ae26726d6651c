import CountersignAMQP
import Testing

extension WithBroker {
  @Suite struct RestartTests {
    private func fill(_ queue: String, _ count: Int, _ admin: AdminConnection) async throws {
      for number in 0..<count {
        _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
      }
    }

    private func take(_ count: Int, from consumer: Consumer, settles: Bool = false) async -> [Delivery] {
      var deliveries: [Delivery] = []
      while deliveries.count < count, let more = await consumer.next() {
        deliveries += more
        if settles { consumer.ack(more.map(\.tag)) }
      }
      return deliveries
    }

    private func expectNoLoss(_ log: EventLog, sourceLocation: SourceLocation = #_sourceLocation) {
      #expect(
        !log.contains { if case .disconnected = $0 { true } else { false } }, sourceLocation: sourceLocation)
    }

    @Test func `After a pause the unsettled do not count against the prefetch`() async throws {
      try await Broker.withQueue { queue, admin in
        try await fill(queue, 20, admin)
        try await withConsumer(queue, prefetch: 4) { consumer, log in
          let first = await take(4, from: consumer)
          await consumer.pause()
          await consumer.resume()
          let second = await take(4, from: consumer)
          #expect((first + second).map(\.message.messageID) == (0..<8).map { "\($0)" })
          expectNoLoss(log)
          // Callers have room for two prefetches, so the third waits.
          await consumer.pause()
          await consumer.resume()
          try await Task.sleep(for: .milliseconds(500))
          #expect(try await admin.declareQueue(queue, passive: true).messageCount == 12)
          #expect(consumer.status.phase == .paused)
          consumer.ack(first.map(\.tag))
          let third = await take(4, from: consumer)
          consumer.ack(second.map(\.tag) + third.map(\.tag))
          let rest = await take(8, from: consumer, settles: true)
          #expect(Set((third + rest).map(\.message.messageID)) == Set((8..<20).map { "\($0)" }))
          expectNoLoss(log)
        }
        #expect(try await admin.declareQueue(queue, passive: true).messageCount == 0)
      }
    }

    @Test func `After the brokers cancel they do not either`() async throws {
      try await Broker.withQueue { queue, admin in
        try await fill(queue, 8, admin)
        try await withProxy { proxy, endpoint in
          try await withConsumer(queue, prefetch: 4, endpoint: endpoint) { consumer, log in
            let first = await take(4, from: consumer)
            // The broker's own consumer stays as it is, with its prefetch used up: it gets nothing.
            proxy.change { $0.injected = FrameFilter.consumerCancel }
            let second = await take(4, from: consumer)
            #expect((first + second).map(\.message.messageID) == (0..<8).map { "\($0)" })
            #expect(log.contains { if case .consumerCanceled = $0 { true } else { false } })
            expectNoLoss(log)
          }
        }
      }
    }

    @Test func `A trial takes one at a time`() async throws {
      try await Broker.withQueue { queue, admin in
        try await fill(queue, 12, admin)
        try await withConsumer(queue, prefetch: 4) { consumer, log in
          let first = await take(4, from: consumer)
          await consumer.pause()
          await consumer.resumeOneByOne()
          for number in 4..<6 {
            let trial = await take(1, from: consumer)
            #expect(trial.map(\.message.messageID) == ["\(number)"])
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await admin.declareQueue(queue, passive: true).messageCount == 11 - number)
            consumer.ack(trial.map(\.tag))
          }
          consumer.ack(first.map(\.tag))
          await consumer.resume()
          let rest = await take(6, from: consumer, settles: true)
          // One that is on its way when the trial ends goes back to the queue.
          #expect(Set(rest.map(\.message.messageID)) == Set((6..<12).map { "\($0)" }))
          expectNoLoss(log)
        }
      }
    }

    @Test func `A delivery lives as long as its channel`() async throws {
      try await Broker.withQueue { queue, admin in
        try await fill(queue, 1, admin)
        try await withConsumer(queue) { consumer, _ in
          let delivery = try #require(await consumer.next()?.first)
          #expect(consumer.isLive(delivery.tag))
          #expect(!consumer.isLive(DeliveryTag(number: 1)))
          try Broker.ctl("close_all_connections", "test")
          let again = try #require(await consumer.next()?.first)
          #expect(again.isRedelivered)
          #expect(!consumer.isLive(delivery.tag))
          #expect(consumer.isLive(again.tag))
          consumer.ack(again.tag)
        }
      }
    }
  }
}
