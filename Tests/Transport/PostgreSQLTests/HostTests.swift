import PostgreSQL
import TestSupport
import Testing

@Suite struct HostTests {
  @Test func `A host where nobody listens, whose name is unknown, or that is silent: the other one is used`()
    async throws
  {
    let silent = RawServer { _, peer, _ in peer.hang() }
    defer { silent.stop() }
    var endpoint = try await PrivatePostgreSQL.shared.database()
    let alive = endpoint.hosts[0]
    let dead = [
      ServerAddress(host: "127.0.0.1", port: Int(refusingPort)), ServerAddress(host: "name.invalid"),
      ServerAddress(host: "127.0.0.1", port: Int(silent.port)), ServerAddress(host: "/nonexistent"),
    ]
    for host in dead {
      endpoint.hosts = [host, alive]
      try await withConnection(to: endpoint, testOptions { $0.connectTimeout = .seconds(3) }) { connection, _ in
        let found = try await connection.int("SELECT 1")
        #expect(found == 1)
        #expect(connection.status.host == alive)
      }
    }
  }

  @Test func `A host where nobody listens: one sentence, without the question that libpq adds in a second line`()
    async throws
  {
    let endpoint = PostgreSQLEndpoint(
      hosts: [ServerAddress(host: "127.0.0.1", port: Int(refusingPort))], database: "d", user: "u")
    try await withConnection(to: endpoint) { connection, _ in
      let error = await connection.failure(of: "SELECT 1")
      #expect(error?.code == .unreachable)
      #expect(error?.message.hasSuffix("cannot be reached: Connection refused") == true, "\(String(describing: error))")
    }
  }

  @Test func `A server that was made read-only is refused, alone; beside another one it is passed over`() async throws {
    let shared = try await PrivatePostgreSQL.shared.server
    try await PrivatePostgreSQL.run { server in
      var endpoint = server.endpoint(database: "in_two")
      for server in [server, shared] { try await server.query("CREATE DATABASE in_two OWNER tester") }
      try await server.query("ALTER DATABASE in_two SET default_transaction_read_only = on")
      try await withConnection(to: endpoint) { connection, _ in
        let error = await connection.failure(of: "SELECT 1")
        #expect(error?.code == .readOnly)
        #expect(error?.isRetriable == true)
      }
      endpoint.hosts += shared.endpoint(database: "in_two").hosts
      try await withConnection(to: endpoint) { connection, _ in
        let found = try await connection.int("SELECT 1")
        #expect(found == 1)
        #expect(connection.status.host == endpoint.hosts[1])
      }
    }
  }

  @Test func `A server that becomes read-only is left, and found again when it takes changes`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    try await withConnection { connection, endpoint in
      try await connection.execute("CREATE TABLE t (n bigint)")
      let lock = await connection.failure { session throws(StoreError) in
        try session.run("SET default_transaction_read_only = on")
        try session.run("INSERT INTO t VALUES (1)")
      }
      #expect(lock?.code == .readOnly)
      #expect(connection.status.isConnected == false)
      try await server.query("ALTER DATABASE \(endpoint.database) SET default_transaction_read_only = on")
      let refused = await connection.failure(of: "SELECT 1")
      #expect(refused?.code == .readOnly)
      try await server.query("ALTER DATABASE \(endpoint.database) SET default_transaction_read_only = off")
      try await waitUntilConnected(connection)
      let found = try await connection.int("SELECT 1")
      #expect(found == 1)
    }
  }
}
