import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite struct EnvironmentTests {
  @Test func `Variables of libpq have no influence`() async throws {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let (directory, port, database) = (endpoint.hosts[0].host, endpoint.hosts[0].port, endpoint.database)
    await #expect(processExitsWith: .success) {
      [directory = directory as String, port = port as Int, database = database as String] in
      let variables = [
        "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE",
        "PGSERVICEFILE", "PGOPTIONS", "PGAPPNAME", "PGSSLMODE", "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGSSLCRL",
        "PGREQUIREPEER", "PGSSLMINPROTOCOLVERSION", "PGGSSENCMODE", "PGKRBSRVNAME", "PGCONNECT_TIMEOUT",
        "PGCLIENTENCODING", "PGTARGETSESSIONATTRS", "PGCHANNELBINDING", "PGDATESTYLE", "PGTZ", "PGGEQO",
      ]
      for variable in variables { setenv(variable, "elsewhere", 1) }
      let address = ServerAddress(host: directory, port: port)
      let endpoint = PostgreSQLEndpoint(hosts: [address], database: database, user: PrivatePostgreSQL.user)
      let name = try await withConnection(to: endpoint) { connection, _ in
        try await connection.withSession { session throws(StoreError) in
          try session.run("SELECT current_setting('application_name')")[0].text(0)
        }
      }
      #expect(name == "countersign")
    }
  }

  @Test func `A password that lies in the home directory or in the environment is not found`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    let endpoint = server.overTCP(try await server.database())
    let (port, database) = (endpoint.hosts[0].port, endpoint.database)
    await #expect(processExitsWith: .success) { [port = port as Int, database = database as String] in
      var template = Array("/tmp/countersign-home-XXXXXX".utf8CString)
      guard let home = mkdtemp(&template).map({ String(cString: $0) }) else { return #expect(Bool(false)) }
      let path = "\(home)/.pgpass"
      let file = try #require(fopen(path, "w"))
      fputs("*:*:*:*:\(PrivatePostgreSQL.password)\n", file)
      fclose(file)
      chmod(path, 0o600)
      defer {
        unlink(path)
        rmdir(home)
      }
      setenv("HOME", home, 1)
      setenv("PGPASSWORD", PrivatePostgreSQL.password, 1)
      var endpoint = PostgreSQLEndpoint(
        hosts: [ServerAddress(host: "127.0.0.1", port: port)], database: database, user: PrivatePostgreSQL.user)
      let without = try await withConnection(to: endpoint) { connection, _ in
        await connection.failure(of: "SELECT 1")?.code
      }
      #expect(without == .loginRefused)
      endpoint.password = PrivatePostgreSQL.password
      let with = try await withConnection(to: endpoint) { connection, _ in await connection.failure(of: "SELECT 1") }
      #expect(with == nil)
    }
  }

  @Test func `Nothing goes to the standard error`() async throws {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let (directory, port, database) = (endpoint.hosts[0].host, endpoint.hosts[0].port, endpoint.database)
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      [directory = directory as String, port = port as Int, database = database as String] in
      let address = ServerAddress(host: directory, port: port)
      let endpoint = PostgreSQLEndpoint(hosts: [address], database: database, user: PrivatePostgreSQL.user)
      try await withConnection(to: endpoint) { connection, _ in
        try await connection.execute("DO $$ BEGIN RAISE WARNING 'a noise'; END $$")
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(!text.contains("noise") && !text.contains("WARNING"))
  }
}
