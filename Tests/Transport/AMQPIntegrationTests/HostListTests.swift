import CountersignAMQP
import TestSupport
import Testing

extension WithBroker {
  @Suite struct HostListTests {
    private let closed = (1...3).map { BrokerHost("127.0.0.1", port: $0) }

    private func endpoint(with others: [BrokerHost]) throws -> BrokerEndpoint {
      var endpoint = try Broker.endpoint()
      endpoint.hosts += others
      return endpoint
    }

    @Test func `Dead hosts are passed over, and the one in use is named`() async throws {
      let live = try Broker.host()
      let endpoint = try endpoint(with: closed)
      try await withPublisher(endpoint: endpoint) { publisher, log in
        try await eventually("it connects") { publisher.isReady }
        #expect(publisher.status.host == live)
        #expect(log.all.last == .connected(live))
      }
      let admin = try await AdminConnection.open(endpoint: endpoint, options: Broker.options("admin"))
      #expect(await admin.host == live)
      try await admin.close()
    }

    @Test func `A tool names every host that failed`() async throws {
      var endpoint = try Broker.endpoint()
      endpoint.hosts = closed
      let error = await #expect(throws: AMQPError.self) {
        _ = try await AdminConnection.open(endpoint: endpoint, options: Broker.options("admin"))
      }
      #expect(error?.code == .connectFailed)
      for host in closed { #expect(error?.message.contains("cannot connect to \(host)") == true) }
    }

    @Test func `A refused password is reported although other hosts are only away`()
      async throws
    {
      var endpoint = try endpoint(with: closed)
      endpoint.password = "hunter2"
      let refusing = try Broker.host()
      let wrong = endpoint
      let error = await #expect(throws: AMQPError.self) {
        _ = try await AdminConnection.open(endpoint: wrong, options: Broker.options("admin"))
      }
      #expect(error?.code == .authenticationRefused)
      let log = EventLog()
      let publisher = Publisher(endpoint: endpoint, options: Broker.options("refused"), onEvent: log.add)
      let running = Task { await publisher.run() }
      try await eventually("each host was tried twice") {
        Set(endpoint.hosts).allSatisfy { host in
          log.all.count { if case .disconnected(_, host, _) = $0 { true } else { false } } >= 2
        }
      }
      #expect(publisher.status.lastError?.code == .authenticationRefused)
      #expect(publisher.status.host == refusing)
      #expect(publisher.status.description.contains("hunter2") == false)
      running.cancel()
      await running.value
    }

    @Test func `A lock is taken again through another host`() async throws {
      try await Broker.withQueue { queue, _ in
        try await Broker.withQueue(arguments: ["x-queue-type": "classic"]) { lock, _ in
          try await withProxy { proxy, through in
            var endpoint = try Broker.endpoint()
            endpoint.hosts += through.hosts
            let hosts = Set(endpoint.hosts)
            try await withConsumer(queue, lock: lock, endpoint: endpoint) { consumer, _ in
              var seen: Set<BrokerHost> = []
              for _ in 0..<2 {
                try await eventually("it consumes at another host") {
                  consumer.isReady && consumer.status.host.map { !seen.contains($0) } == true
                }
                seen.insert(try #require(consumer.status.host))
                try Broker.ctl("close_all_connections", "test")
              }
              #expect(seen == hosts)
            }
          }
        }
      }
    }
  }
}
