import CountersignAMQP
import TestSupport
import Testing

extension WithBroker {
  @Suite struct RefusalTests {
    private func failureToOpen(_ change: (inout BrokerEndpoint) -> Void) async throws -> AMQPError? {
      var endpoint = try Broker.endpoint()
      change(&endpoint)
      let error = await #expect(throws: AMQPError.self) {
        _ = try await AdminConnection.open(endpoint: endpoint, options: Broker.options("refused"))
      }
      if let error { #expect(!error.description.contains("hunter2")) }
      return error
    }

    @Test func `A wrong password is refused`() async throws {
      let error = try await failureToOpen { $0.password = "hunter2" }
      #expect(error?.code == .authenticationRefused)
      #expect(error?.isRetriable == false)
    }

    @Test func `The password is asked for at each login`() async throws {
      var endpoint = try Broker.endpoint()
      let password = endpoint.password
      endpoint.password = "hunter2"
      var options = Broker.options("renewed password")
      options.password = { password }
      try await AdminConnection.open(endpoint: endpoint, options: options).close()
    }

    @Test func `A missing virtual host`() async throws {
      let error = try await failureToOpen { $0.virtualHost = "no-such" }
      #expect(error?.code == .notFound)
      #expect(error?.message == "virtual host 'no-such' is missing")
    }

    @Test func `A virtual host without permission`() async throws {
      try Broker.ctl("add_user", "nobody", "hunter2")
      defer { #expect(throws: Never.self) { try Broker.ctl("delete_user", "nobody") } }
      let error = try await failureToOpen {
        $0.username = "nobody"
        $0.password = "hunter2"
      }
      #expect(error?.code == .accessRefused)
    }

    @Test func `A port where nobody listens`() async throws {
      let error = try await failureToOpen {
        $0.hosts = [BrokerHost("localhost", port: 1)]
      }
      #expect(error?.code == .connectFailed)
      #expect(error?.message == "cannot connect to localhost:1: is the broker running, and reachable from here?")
    }

    @Test func `A host nobody knows`() async throws {
      let error = try await failureToOpen { $0.hosts = [BrokerHost("no-such-host.invalid", port: 5672)] }
      #expect(error?.code == .connectFailed)
    }

    @Test func `A peer that says nothing`() async throws {
      try await withProxy { proxy, endpoint in
        proxy.change { $0.isBlackHole = true }
        var options = Broker.options("black hole")
        options.rpcTimeout = .seconds(1)
        let start = ContinuousClock.now
        let error = await #expect(throws: AMQPError.self) {
          _ = try await AdminConnection.open(endpoint: endpoint, options: options)
        }
        #expect(error?.code == .timedOut)
        #expect(start.duration(to: .now) < .seconds(30))
      }
    }

    @Test func `A missing queue is named and consumed once it is there`()
      async throws
    {
      let queue = "test.late.\(UInt64.random(in: 0...UInt64.max))"
      try await withConsumer(queue) { consumer, log in
        try await eventually("the missing queue is reported") { log.lastError != nil }
        let expected = "queue '\(queue)' is missing: run countersign topology apply"
        #expect(log.lastError?.code == .notFound)
        #expect(log.lastError?.message == expected)
        #expect(consumer.status.lastError?.message == expected)
        #expect(!consumer.isReady)
        let admin = try await AdminConnection.open(endpoint: Broker.endpoint(), options: Broker.options("admin"))
        try await admin.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        try await eventually("the consumer is ready") { consumer.isReady }
        #expect(consumer.status.lastError == nil)
        try await admin.deleteQueue(queue)
        try await admin.close()
      }
    }

    @Test func `A bad publish does not hurt others`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withPublisher { publisher, log in
          let batch = (0..<300).map { number in
            switch number % 100 {
            case 10: Publication(message: Message(id: "\(number)"), exchange: "no.such.exchange", routingKey: queue)
            case 20: Publication(message: Message(id: "\(number)"), exchange: "", routingKey: "no.such.queue")
            case 30:
              Publication(
                message: Message(messageID: "\(number)", userID: "somebody else"), exchange: "", routingKey: queue)
            default: Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue)
            }
          }
          let outcomes = try await publisher.publish(batch)
          for (number, outcome) in outcomes.enumerated() {
            switch (number % 100, outcome) {
            case (10, .returned(code: 404, _)), (20, .returned(code: 312, _)), (30, .returned(code: 406, _)): break
            case (10, _), (20, _), (30, _): Issue.record("\(number): \(outcome)")
            default: #expect(outcome == .confirmed)
            }
          }
          #expect(log.contains { if case .channelReopened = $0 { true } else { false } })
          #expect(!log.contains { if case .disconnected = $0 { true } else { false } })
        }
      }
    }

    @Test func `A publication that closes the connection is given up and the others arrive`() async throws {
      try await Broker.withQueue { queue, admin in
        try await withProxy { proxy, endpoint in
          proxy.change { $0.forbidden = Array("poisonous".utf8) }
          try await withPublisher(endpoint: endpoint) { publisher, log in
            try await eventually("the publisher is ready") { publisher.isReady }
            let batch = (0..<40).map { number in
              Publication(
                message: Message(id: "\(number)", number == 17 ? "poisonous" : "{}"), exchange: "", routingKey: queue)
            }
            let outcomes = try await publisher.publish(batch)
            for (number, outcome) in outcomes.enumerated() where number != 17 { #expect(outcome == .confirmed) }
            guard case .returned(code: 501, _) = outcomes[17] else { return #expect(Bool(false), "\(outcomes[17])") }
            let given = log.all.filter { if case .publicationGivenUp = $0 { true } else { false } }
            #expect(given.count == 1)
            #expect(try await publisher.publish(batch[0]) == .confirmed)
          }
        }
        #expect(try await admin.declareQueue(queue, passive: true).messageCount >= 40)
      }
    }

    @Test func `The trouble of the broker is not blamed on what was published`() async throws {
      try await Broker.withQueue { queue, _ in
        try await withProxy { proxy, endpoint in
          // RESOURCE_ERROR
          proxy.change {
            $0.forbidden = Array("innocent".utf8)
            $0.closeCode = 506
          }
          try await withPublisher(endpoint: endpoint) { publisher, log in
            try await eventually("the publisher is ready") { publisher.isReady }
            async let outcome = publisher.publish(
              Publication(message: Message(id: "1", "innocent"), exchange: "", routingKey: queue))
            try await eventually("the connection was closed several times") {
              log.all.count { if case .disconnected = $0 { true } else { false } } >= 5
            }
            proxy.change { $0.forbidden = [] }
            let settled = try await outcome
            #expect(settled == .confirmed)
            #expect(!log.contains { if case .publicationGivenUp = $0 { true } else { false } })
          }
        }
      }
    }

    @Test func `A full queue nacks`() async throws {
      let arguments: [String: FieldValue] = ["x-max-length": 1, "x-overflow": "reject-publish"]
      try await Broker.withQueue(arguments: arguments) { queue, _ in
        try await withPublisher { publisher, _ in
          var nacks = 0
          for number in 0..<50 where nacks == 0 {
            let outcome = try await publisher.publish(
              Publication(message: Message(id: "\(number)"), exchange: "", routingKey: queue))
            if outcome == .nacked { nacks += 1 }
          }
          #expect(nacks == 1)
        }
      }
    }

    @Test func `A queue that is full has the channel replaced, now and then, and what follows arrives`() async throws {
      let arguments: [String: FieldValue] = ["x-max-length": 1, "x-overflow": "reject-publish"]
      try await Broker.withQueue(arguments: arguments) { full, _ in
        try await fill(full)
        try await Broker.withQueue { queue, admin in
          try await withPublisher { publisher, log in
            var outcomes: [PublishOutcome] = []
            for number in 0..<400 {
              let target = number.isMultiple(of: 2) ? full : queue
              outcomes.append(
                try await publisher.publish(
                  Publication(message: Message(id: "\(number)"), exchange: "", routingKey: target)))
            }
            for (number, outcome) in outcomes.enumerated() {
              #expect(outcome == (number.isMultiple(of: 2) ? .nacked : .confirmed))
            }
            #expect(try await admin.declareQueue(queue, passive: true).messageCount == 200)
            let renewals = log.all.count { $0 == .channelRenewed }
            #expect(renewals >= 1 && renewals < 20, "\(renewals)")
            #expect(!log.contains { if case .disconnected = $0 { true } else { false } })
          }
        }
      }
    }

    @Test func `A tool survives the brokers errors`() async throws {
      try await Broker.withQueue { queue, admin in
        _ = try await admin.publish(Publication(message: Message(id: "1"), exchange: "", routingKey: queue))
        let stale = try #require(try await admin.get(queue))
        let missing = await #expect(throws: AMQPError.self) {
          try await admin.declareQueue("no.such", passive: true)
        }
        #expect(missing?.message == "queue 'no.such' is missing: run countersign topology apply")
        let different = await #expect(throws: AMQPError.self) {
          try await admin.declareQueue(queue, arguments: ["x-queue-type": "classic"])
        }
        #expect(different?.code == .preconditionFailed)
        // The delivery went back with its channel: its tag must not touch the next one.
        try await admin.ack(stale.delivery.tag)
        let again = try #require(try await admin.get(queue))
        #expect(again.delivery.isRedelivered)
        try await admin.ack(again.delivery.tag)
        #expect(try await admin.get(queue) == nil)
        let noExchange = await #expect(throws: AMQPError.self) {
          _ = try await admin.publish(Publication(message: Message(id: "2"), exchange: "no.such", routingKey: "k"))
        }
        #expect(noExchange?.code == .notFound)
        let outcome = try await admin.publish(Publication(message: Message(id: "3"), exchange: "", routingKey: queue))
        #expect(outcome == .confirmed)
        #expect(try await admin.purge(queue) == 1)
      }
    }

    @Test func `The topology is declared bound and removed`() async throws {
      try await Broker.withQueue { queue, admin in
        let exchange = queue + ".exchange"
        #expect(await admin.serverProperties["product"] == "RabbitMQ")
        try await admin.declareExchange(exchange, type: "topic")
        try await admin.declareExchange(exchange, type: "topic", passive: true)
        try await admin.bindQueue(queue, exchange: exchange, routingKey: "a.*")
        let bound = try await admin.publish(
          Publication(message: Message(id: "1"), exchange: exchange, routingKey: "a.b"))
        #expect(bound == .confirmed)
        try await admin.unbindQueue(queue, exchange: exchange, routingKey: "a.*")
        let unbound = try await admin.publish(
          Publication(message: Message(id: "2"), exchange: exchange, routingKey: "a.b"))
        #expect(unbound == .returned(code: 312, text: "NO_ROUTE"))
        try await admin.deleteExchange(exchange)
        let error = await #expect(throws: AMQPError.self) {
          try await admin.declareExchange(exchange, type: "topic", passive: true)
        }
        #expect(error?.code == .notFound)
      }
    }
  }
}
