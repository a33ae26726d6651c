import CountersignAMQP
import Testing

extension WithBroker {
  /// Confirms of requests: late only when the broker could have sent them.
  @Suite struct RequestTests {
    private var impatient: ConnectionOptions {
      var options = Broker.options("requests")
      options.confirmTimeout = .seconds(1)
      return options
    }

    @Test("A memory alarm makes no request late") func aMemoryAlarmMakesNoRequestLate() async throws {
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

    @Test("A channel that confirms nothing is noticed also while requests go out")
    func aChannelThatConfirmsNothingIsNoticedAlsoWhileRequestsGoOut() async throws {
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
            try await eventually("the connection is given up", within: .seconds(15)) {
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
