import CountersignAMQP
import Foundation
import TestSupport
import Testing

extension WithBroker {
  /// A TLS listener of the broker, with a certificate of an authority that nobody knows.
  @Suite struct TLSTests {
    private struct Files {
      var folder: URL
      var port: Int

      func path(_ name: String) -> String { folder.appending(path: name).path }
    }

    private func run(_ arguments: [String], in folder: URL) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = arguments
      process.currentDirectoryURL = folder
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Broker.Missing(description: "\(arguments.joined(separator: " ")) failed")
      }
    }

    private func makeFiles(_ folder: URL) throws {
      for name in ["ca", "other"] {
        try run(
          [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "\(name).key", "-out",
            "\(name).pem", "-subj", "/CN=Test \(name)",
          ], in: folder)
      }
      try run(
        [
          "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj",
          "/CN=broker",
        ], in: folder)
      try Data("subjectAltName=DNS:localhost,IP:127.0.0.2\n".utf8).write(to: folder.appending(path: "names"))
      try run(
        [
          "openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
          "-days", "2", "-extfile", "names", "-out", "server.pem",
        ], in: folder)
    }

    private func withListener(
      versions: String = "'tlsv1.2','tlsv1.3'", _ body: (BrokerEndpoint, Files) async throws -> Void
    ) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(
        path: "countersign-tls-\(UInt64.random(in: 0...UInt64.max))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
      try makeFiles(folder)
      let proxy = try Proxy(target: 1)
      let port = proxy.port + 0
      proxy.close()
      let files = Files(folder: folder, port: port)
      try Broker.ctl(
        "eval",
        """
        ok = rabbit_networking:start_ssl_listener(\(port), [{cacertfile,"\(files.path("ca.pem"))"},\
        {certfile,"\(files.path("server.pem"))"},{keyfile,"\(files.path("server.key"))"},{versions,[\(versions)]}], 1).
        """)
      defer { #expect(throws: Never.self) { try Broker.ctl("eval", "rabbit_networking:stop_tcp_listener(\(port)).") } }
      var endpoint = try Broker.endpoint()
      endpoint.hosts = [BrokerHost("localhost", port: port)]
      endpoint.tls = TLSSettings(caFile: files.path("ca.pem"))
      try await body(endpoint, files)
    }

    private func failure(
      _ endpoint: BrokerEndpoint, _ options: ConnectionOptions = Broker.options("tls")
    ) async -> AMQPError? {
      await #expect(throws: AMQPError.self) {
        _ = try await AdminConnection.open(endpoint: endpoint, options: options)
      }
    }

    @Test func `Trust is checked and the reason told`() async throws {
      try await withListener { endpoint, files in
        let good = try await AdminConnection.open(endpoint: endpoint, options: Broker.options("tls"))
        try await good.close()

        var other = endpoint
        other.tls?.caFile = files.path("other.pem")
        let wrongAuthority = await failure(other)
        #expect(wrongAuthority?.code == .tlsFailed)
        #expect(wrongAuthority?.isRetriable == false)
        #expect(
          wrongAuthority?.message.hasSuffix("is not trusted: self-signed certificate in certificate chain") == true)
        other.tls = TLSSettings()
        #expect(await failure(other)?.code == .tlsFailed)
        other = endpoint
        let port = endpoint.hosts[0].port
        other.hosts = [BrokerHost("127.0.0.1", port: port)]
        let wrongName = await failure(other)
        #expect(wrongName?.code == .tlsFailed)
        #expect(wrongName?.message.contains("IP address mismatch") == true)

        // Each host of a list is checked under its own name: the one that is named right is used.
        other.hosts.append(BrokerHost("localhost", port: port))
        let named = try await AdminConnection.open(endpoint: other, options: Broker.options("tls"))
        #expect(await named.host?.name == "localhost")
        try await named.close()
        other.hosts.removeLast()
        other.tls?.verifyHostname = false
        let unnamed = try await AdminConnection.open(endpoint: other, options: Broker.options("tls"))
        try await unnamed.close()
        other = endpoint
        other.tls?.caFile = "/no/such/file"
        #expect(await failure(other)?.message.contains("/no/such/file") == true)
      }
    }

    @Test func `Messages go through`() async throws {
      try await withListener { endpoint, _ in
        try await Broker.withQueue { queue, _ in
          try await withPublisher(endpoint: endpoint) { publisher, log in
            try await withConsumer(queue, endpoint: endpoint) { consumer, _ in
              let body = [UInt8](repeating: 5, count: 200_000)
              let outcomes = try await publisher.publish(
                (0..<50).map {
                  Publication(message: Message(messageID: "\($0)", body: body), exchange: "", routingKey: queue)
                })
              #expect(outcomes.allSatisfy { $0 == .confirmed })
              // A first attempt may fail on a loaded machine.
              let met = log.all.first { if case .certificates = $0 { true } else { false } }
              guard case .certificates(let ends, endpoint.hosts[0])? = met, let end = ends[.broker] else {
                Issue.record("no certificate: \(log.all)")
                return
              }
              let days = (Double(end) - Date.now.timeIntervalSince1970) / 86_400
              #expect(ends.count == 1 && days > 1.9 && days < 2.1)
              var count = 0
              while count < 50, let deliveries = await consumer.next() {
                for delivery in deliveries {
                  #expect(delivery.message.body == body)
                  consumer.ack(delivery.tag)
                }
                count += deliveries.count
              }
            }
          }
        }
      }
    }

    @Test func `Resets are survived`() async throws {
      try await withListener { direct, _ in
        let proxy = try Proxy(target: direct.hosts[0].port, seesFrames: false)
        defer { proxy.close() }
        var endpoint = direct
        endpoint.hosts = [BrokerHost("localhost", port: proxy.port)]
        let throughProxy = endpoint
        try await Broker.withQueue { queue, admin in
          try await withPublisher(endpoint: throughProxy, maxOutstanding: 16) { publisher, log in
            async let outcomes = publisher.publish(
              (0..<2000).map { Publication(message: Message(id: "\($0)"), exchange: "", routingKey: queue) })
            for round in 1...3 {
              try await eventually("the publisher is ready") { proxy.accepted >= round && publisher.isReady }
              proxy.reset()
            }
            let settled = try await outcomes
            #expect(settled.allSatisfy { $0 == .confirmed })
            #expect(log.contains { if case .disconnected = $0 { true } else { false } })
          }
          #expect(try await admin.declareQueue(queue, passive: true).messageCount >= 2000)
        }
      }
    }

    @Test func `Old versions are refused`() async throws {
      try await withListener(versions: "'tlsv1.1'") { endpoint, _ in
        #expect(await failure(endpoint)?.code == .tlsFailed)
      }
    }

    @Test func `A plain port is not mistaken for ATLS one`() async throws {
      var endpoint = try Broker.endpoint()
      endpoint.tls = TLSSettings()
      var options = Broker.options("tls")
      options.connectTimeout = .seconds(2)
      let error = await failure(endpoint, options)
      #expect(error?.code == .tlsFailed || error?.code == .timedOut)
    }
  }
}
