import AMQP
import Testing

extension WithBroker {
  /// A consumer that has its queue for itself.
  @Suite struct LockTests {
    @Test("A second consumer with the same lock waits, says why, and takes over when the first is gone")
    func aSecondOneWaits() async throws {
      try await Broker.withQueue { queue, admin in
        let lock = "\(queue).lock"
        try await withConsumer(queue, lock: lock) { first, _ in
          try await eventually("the first consumes") { first.isReady }
          try await withConsumer(queue, lock: lock) { second, log in
            try await eventually("the second was told") { second.status.lastError?.code == .resourceLocked }
            #expect(second.status.lastError?.message.contains("another process consumes queue '\(queue)'") == true)
            #expect(!second.isReady && !log.contains { $0 == .connected })
            for number in 0..<20 {
              _ = try await admin.publish(
                Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
            }
            var got = 0
            while got < 20 {
              let deliveries = try #require(await first.next())
              got += deliveries.count
              first.ack(deliveries.map(\.tag))
            }
            await first.close()
            try await eventually("the second takes over") { second.isReady }
          }
        }
      }
    }
  }
}
