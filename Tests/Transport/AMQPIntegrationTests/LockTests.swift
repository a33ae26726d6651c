import CountersignAMQP
import TestSupport
import Testing

extension WithBroker {
  @Suite struct LockTests {
    private func withLock(_ body: (String, String, AdminConnection) async throws -> Void) async throws {
      try await Broker.withQueue { queue, admin in
        try await Broker.withQueue(arguments: ["x-queue-type": "classic"]) { lock, _ in
          try await body(queue, lock, admin)
        }
      }
    }

    private func publish(_ count: Int, to queue: String, _ admin: AdminConnection) async throws {
      for number in 0..<count {
        _ = try await admin.publish(Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
      }
    }

    private func take(_ count: Int, _ consumer: Consumer) async throws {
      var got = 0
      while got < count {
        let deliveries = try #require(await consumer.next())
        got += deliveries.count
        consumer.ack(deliveries.map(\.tag))
      }
    }

    @Test func `A second consumer with the same lock waits, says why, and takes over when the first is gone`()
      async throws
    {
      try await withLock { queue, lock, admin in
        try await withConsumer(queue, lock: lock) { first, _ in
          try await eventually("the first consumes") { first.isReady }
          try await withConsumer(queue, lock: lock) { second, log in
            try await eventually("the second was told") { second.status.lastError?.code == .resourceLocked }
            #expect(second.status.lastError?.message.contains("another process consumes queue '\(queue)'") == true)
            #expect(!second.isReady && !log.contains { if case .connected = $0 { true } else { false } })
            try await publish(20, to: queue, admin)
            try await take(20, first)
            await first.close()
            try await eventually("the second takes over") { second.isReady }
          }
        }
      }
    }

    @Test
    func `Any number share a lock, and one that wants it alone waits until the last is gone; they wait for it as well`()
      async throws
    {
      try await withLock { queue, lock, admin in
        try await withConsumer(queue, lock: lock, isLockShared: true) { first, _ in
          try await withConsumer(queue, lock: lock, isLockShared: true) { second, _ in
            try await eventually("both consume") { first.isReady && second.isReady }
            try await withConsumer(queue, lock: lock) { alone, _ in
              try await eventually("it was told") { alone.status.lastError?.code == .resourceLocked }
              await first.close()
              try await publish(20, to: queue, admin)
              try await take(20, second)
              #expect(!alone.isReady)
              await second.close()
              try await eventually("it is alone") { alone.isReady }
              try await withConsumer(queue, lock: lock, isLockShared: true) { third, _ in
                try await eventually("the third was told") { third.status.lastError?.code == .resourceLocked }
              }
            }
          }
        }
      }
    }

    @Test func `Messages in the lock queue are dropped`() async throws {
      try await withLock { queue, lock, admin in
        try await withConsumer(queue, prefetch: 4, lock: lock) { consumer, log in
          try await eventually("it consumes") { consumer.isReady }
          try await publish(50, to: lock, admin)
          try await publish(20, to: queue, admin)
          try await publish(50, to: lock, admin)
          try await take(20, consumer)
          try await eventually("the lock is empty") {
            try await admin.declareQueue(lock, passive: true).messageCount == 0
          }
          #expect(!log.contains { if case .disconnected = $0 { true } else { false } })
        }
        // Nothing comes back with the connection: it was settled, and not only passed over.
        #expect(try await admin.declareQueue(lock, passive: true).messageCount == 0)
        #expect(try await admin.declareQueue(queue, passive: true).messageCount == 0)
      }
    }

    @Test func `Without the lock nothing is consumed`() async throws {
      try await withLock { queue, lock, admin in
        try await withConsumer(queue, lock: lock) { consumer, log in
          try await eventually("it consumes") { consumer.isReady }
          try await admin.deleteQueue(lock)
          try await eventually("it says what is missing") { log.lastError?.code == .notFound }
          #expect(log.contains { $0 == .consumerCanceled(queue: queue) })
          #expect(
            log.lastError?.message
              == "queue '\(lock)' is missing: an administrator's countersign topology apply has to run first")
          #expect(!consumer.isReady)
          try await admin.declareQueue(lock, arguments: ["x-queue-type": "classic"])
          try await eventually("it consumes again") { consumer.isReady }
        }
      }
    }

    @Test func `A missing right is not a second consumer`() async throws {
      try Broker.ctl("add_user", "reader", "hunter2")
      defer { #expect(throws: Never.self) { try Broker.ctl("delete_user", "reader") } }
      try await withLock { queue, lock, _ in
        var endpoint = try Broker.endpoint()
        (endpoint.username, endpoint.password) = ("reader", "hunter2")
        try Broker.ctl("set_permissions", "-p", endpoint.virtualHost, "reader", "^$", "^$", "^\(queue)$")
        try await withConsumer(queue, lock: lock, endpoint: endpoint) { consumer, log in
          try await eventually("it says what it lacks") { log.lastError?.code == .accessRefused }
          #expect(log.lastError?.message.contains("may not read queue '\(lock)'") == true)
          try Broker.ctl("set_permissions", "-p", endpoint.virtualHost, "reader", "^$", "^$", "^\(queue)$|^\(lock)$")
          try await eventually("it consumes without a right to declare anything") { consumer.isReady }
        }
      }
    }

    @Test func `A virtual host full of queues hinders nobody`() async throws {
      try await withLock { queue, lock, admin in
        let virtualHost = try Broker.endpoint().virtualHost
        try Broker.ctl("set_vhost_limits", "-p", virtualHost, #"{"max-queues":0}"#)
        defer { #expect(throws: Never.self) { try Broker.ctl("clear_vhost_limits", "-p", virtualHost) } }
        await #expect(throws: AMQPError.self) { try await admin.declareQueue("\(lock).more") }
        try await withConsumer(queue, lock: lock) { consumer, _ in
          try await eventually("it consumes") { consumer.isReady }
        }
      }
    }
  }
}
