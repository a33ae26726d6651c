import CountersignAMQP
import TestSupport
import Testing

extension WithBroker {
  /// Confirms of requests: late only when the broker could have sent them.
  @Suite struct RequestTests {
    private var impatient: ConnectionOptions {
      var options = Broker.options("requests")
      options.confirmTimeout = .seconds(1)
      return options
    }

    @Test func `A memory alarm makes no request late`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withConsumer(queue) { consumer, _ in
          try await withPublisher { publisher, _ in
            async let answering: Void = answer(consumer, publisher, count: 20)
            try await withRequestClient(options: impatient) { client, log in
              try await eventually("the client is ready") { client.isReady }
              try Broker.ctl("set_vm_memory_high_watermark", "0.0001")
              defer { #expect(throws: Never.self) { try Broker.ctl("set_vm_memory_high_watermark", "0.4") } }
              let asking = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                  for number in 0..<20 {
                    group.addTask {
                      _ = try await client.request(
                        Message(id: "q\(number)"), exchange: "", routingKey: queue, timeout: .seconds(30))
                    }
                  }
                  try await group.waitForAll()
                }
              }
              try await eventually("the block is reported") { client.status.phase == .blocked }
              // Longer than a confirm may take.
              let busy = processorTime()
              try await Task.sleep(for: .seconds(3))
              #expect(processorTime() - busy < .milliseconds(600))
              try Broker.ctl("set_vm_memory_high_watermark", "0.4")
              try await asking.value
              #expect(!log.contains { if case .disconnected = $0 { true } else { false } })
            }
            try await answering
          }
        }
      }
    }

    @Test
    func `A request that a full queue refuses fails, and one that waits for its reply gets it on the new channel`()
      async throws
    {
      let arguments: [String: FieldValue] = ["x-max-length": 1, "x-overflow": "reject-publish"]
      try await Broker.withQueue(arguments: arguments) { full, _ in
        try await Broker.withQueue { queue, admin in
          try await fill(full)
          try await withRequestClient { client, log in
            let reply = Task {
              try await client.request(
                Message(id: "w", "early"), exchange: "", routingKey: queue, timeout: .seconds(300))
            }
            try await waitForMessage(in: queue, admin)
            let refused = await #expect(throws: AMQPError.self) {
              try await client.request(Message(id: "r"), exchange: "", routingKey: full, timeout: .seconds(60))
            }
            #expect(refused?.code == .nacked)
            try await eventually("the channel is replaced") { log.contains { $0 == .channelRenewed } }
            // The reply address of the old channel is gone: only the request that was sent again can be answered.
            try await withConsumer(queue) { consumer, _ in
              try await withPublisher { publisher, _ in
                let answering = Task { try await answer(consumer, publisher, count: .max) }
                let body = try await reply.value.body
                #expect(body == Array("answer to early".utf8))
                answering.cancel()
                await consumer.close()
                // Canceled, maybe while it answers a copy.
                _ = await answering.result
              }
            }
          }
        }
      }
    }

    @Test func `A request that a queue has taken is sent again while it refuses the copy on the next channel`()
      async throws
    {
      let arguments: [String: FieldValue] = ["x-max-length": 1, "x-overflow": "reject-publish"]
      try await Broker.withQueue(arguments: arguments) { queue, admin in
        try await Broker.withQueue(arguments: arguments) { full, _ in
          try await fill(full)
          try await withRequestClient { client, log in
            let waiting = Task {
              try await client.request(
                Message(id: "w", "early"), exchange: "", routingKey: queue, timeout: .seconds(300))
            }
            try await waitForMessage(in: queue, admin)
            try await fill(queue)
            _ = try? await client.request(Message(id: "r"), exchange: "", routingKey: full, timeout: .seconds(60))
            // The second time, because its own queue refuses its copy.
            try await eventually("the channel is replaced again") {
              log.all.count { $0 == .channelRenewed } >= 2
            }
            _ = try await admin.purge(queue)
            try await withConsumer(queue) { consumer, _ in
              try await withPublisher { publisher, _ in
                let answering = Task { try await answer(consumer, publisher, count: .max) }
                let body = try await waiting.value.body
                #expect(body == Array("answer to early".utf8))
                answering.cancel()
                await consumer.close()
                // Canceled, maybe while it answers a copy.
                _ = await answering.result
              }
            }
          }
        }
      }
    }

    private func waitForMessage(in queue: String, _ admin: AdminConnection) async throws {
      try await eventually("the early request is in its queue") {
        (try? await admin.declareQueue(queue, passive: true).messageCount) == 1
      }
    }

    @Test func `A channel that confirms nothing is noticed also while requests go out`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withProxy { proxy, endpoint in
          try await withRequestClient(endpoint: endpoint, options: impatient) { client, log in
            try await eventually("the client is ready") { client.isReady }
            proxy.change { $0.downstream = .swallow(classID: 60, methodID: 80) }
            let asking = Task {
              for number in 0..<100 where !Task.isCancelled {
                // Nobody answers.
                _ = try? await client.request(
                  Message(id: "q\(number)"), exchange: "", routingKey: queue, timeout: .milliseconds(200))
              }
            }
            try await eventually("the connection is given up") {
              log.lastError?.code == .timedOut
            }
            asking.cancel()
            await asking.value
          }
        }
      }
    }
  }
}
