import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite struct LoginTests {
  @Test func `A password that is right, wrong or missing`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    var endpoint = server.overTCP(try await server.database())
    var usual = PostgreSQLOptions()
    usual.searchPath = ["public"]
    try await withConnection(to: endpoint, usual) { connection, _ in
      let row = try await connection.withSession { session throws(StoreError) in
        try session.run(
          """
          SELECT current_setting('tcp_user_timeout'), current_setting('tcp_keepalives_idle'),
            current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('search_path'),
            current_setting('client_encoding'), current_setting('transaction_isolation'),
            current_setting('application_name'), current_setting('synchronous_commit')
          """)[0]
      }
      let settings = try (0..<9).map { try row.text($0) }
      #expect(
        settings == [
          "7000", "3", "10s", "2s", "\"public\"", "UTF8", "read committed", "countersign-tests", "on",
        ])
    }
    for password in ["wrong", ""] {
      endpoint.password = password
      try await withConnection(to: endpoint) { connection, _ in
        let error = await connection.failure(of: "SELECT 1")
        #expect(error?.code == .loginRefused)
        #expect(error?.isRetriable == false)
        #expect(error?.message.contains("wrong password") == false)
      }
    }
  }

  @Test func `A database that is not there, and a server that starts`() async throws {
    var endpoint = try await PrivatePostgreSQL.shared.database()
    endpoint.database = "missing"
    try await withConnection(to: endpoint) { connection, _ in
      let error = await connection.failure(of: "SELECT 1")
      #expect(error?.code == .loginRefused)
      #expect(error?.sqlState == "3D000")
    }
    // Answers the greeting with FATAL 57P03, as a server that recovers does.
    let starting = RawServer { _, peer, _ in
      var byte: UInt8 = 0
      guard recv(peer.descriptor, &byte, 1, 0) == 1 else { return }
      let fields =
        ["SFATAL", "VFATAL", "C57P03", "Mthe database system is starting up"].map { $0 + "\0" }.joined() + "\0"
      peer.write("E\0\0\0" + String(UnicodeScalar(UInt8(fields.utf8.count + 4))) + fields)
      peer.hang()
    }
    defer { starting.stop() }
    endpoint.hosts = [ServerAddress(host: "127.0.0.1", port: Int(starting.port))]
    try await withConnection(to: endpoint) { connection, _ in
      let error = await connection.failure(of: "SELECT 1")
      #expect(error?.code == .shuttingDown)
      #expect(error?.isRetriable == true)
    }
  }

  @Test func `A server that is none, or goes away in the greeting`() async throws {
    var endpoint = try await PrivatePostgreSQL.shared.database()
    for answer in ["HTTP/1.1 400 Bad Request\r\n\r\n", "", "E\u{7F}\u{7F}\u{7F}\u{7F}x", "R\0\0\0\u{8}\0\0\0\u{63}"] {
      let server = RawServer { _, peer, _ in
        var byte: UInt8 = 0
        guard recv(peer.descriptor, &byte, 1, 0) == 1 else { return }
        peer.write(answer)
      }
      defer { server.stop() }
      endpoint.hosts = [ServerAddress(host: "127.0.0.1", port: Int(server.port))]
      try await withConnection(to: endpoint, testOptions { $0.connectTimeout = .milliseconds(500) }) { connection, _ in
        let error = await connection.failure(of: "SELECT 1")
        #expect(error?.code == .unreachable || error?.code == .loginRefused)
      }
    }
  }

  @Test
  func
    `TLS: the right name is taken, and results larger than a record arrive; other names and authorities are refused`()
    async throws
  {
    try await PrivatePostgreSQL.run { server in
      let certificates = try ServerCertificates(in: server.directory)
      try server.configure([
        "ssl = on", "ssl_cert_file = '\(certificates.certificateFile)'", "ssl_key_file = '\(certificates.keyFile)'",
      ])
      try await server.restart()
      var endpoint = server.overTCP(try await server.database())
      endpoint.hosts[0].host = "localhost"
      endpoint.tls = PostgreSQLTLS(caFile: certificates.authorityFile)
      var seen: Int64?
      try await withConnection(to: endpoint) { connection, _ in
        seen = try await connection.withSession { session throws(StoreError) in session.certificate?.end }
        #expect(try await connection.int("SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl") == 1)
        let rows = try await connection.withSession { session throws(StoreError) in
          try session.run("SELECT repeat('x', 100) FROM generate_series(1, 10000)")
        }
        #expect(rows.count == 10_000)
        let value = String(repeating: "y", count: 5 << 20)
        let echo = try await connection.withSession { session throws(StoreError) in
          try session.run("SELECT $1::text", [.text(value)])[0].text(0)
        }
        #expect(echo == value)
      }
      // Its signer does not matter: only its end is read.
      endpoint.tls = PostgreSQLTLS()
      let end = await PostgreSQLCertificate.end(of: endpoint.hosts[0], endpoint, timeout: .seconds(60))
      let days = Double(try #require(end) - Int64(time(nil))) / 86_400
      #expect(days > 1.9 && days < 2.1 && seen == end)
      endpoint.tls = PostgreSQLTLS(caFile: certificates.authorityFile)
      endpoint.hosts[0].host = "127.0.0.1"
      try await expectTLSRefused(endpoint)
      endpoint.hosts[0].host = "localhost"
      endpoint.tls = PostgreSQLTLS(caFile: certificates.otherAuthorityFile)
      try await expectTLSRefused(endpoint)
      endpoint.tls = PostgreSQLTLS(caFile: "/nonexistent/ca.pem")
      try await expectTLSRefused(endpoint)
      // The system's authorities have not signed it.
      endpoint.tls = PostgreSQLTLS()
      try await expectTLSRefused(endpoint)
    }
  }

  @Test func `A server without TLS is refused when TLS is wanted`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    var endpoint = server.overTCP(try await server.database())
    endpoint.tls = PostgreSQLTLS()
    try await expectTLSRefused(endpoint)
    #expect(await PostgreSQLCertificate.end(of: endpoint.hosts[0], endpoint, timeout: .seconds(60)) == nil)
  }

  private func expectTLSRefused(_ endpoint: PostgreSQLEndpoint) async throws {
    try await withConnection(to: endpoint) { connection, _ in
      let error = await connection.failure(of: "SELECT 1")
      #expect(error?.code == .tlsRefused)
    }
  }
}
