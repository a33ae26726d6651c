import PostgreSQL
import TestSupport
import Testing

@Suite struct LossTests {
  private static func termination(of pid: Int) -> String { "SELECT pg_terminate_backend(\(pid), 60000)" }

  /// Ends the connection that a body has, as an administrator does, and waits until it is gone.
  private static func terminate(_ pid: Int, _ server: PrivatePostgreSQL) throws(StoreError) {
    do { _ = try server.psql(termination(of: pid)) } catch { throw StoreError(.misuse, "\(error)") }
  }

  @Test func `One that was ended while idle is replaced unseen, and its statements are prepared anew`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    try await withConnection { connection, _ in
      let sql = "SELECT pg_backend_pid()"
      let first = try await connection.int(sql)
      try await server.query(Self.termination(of: first))
      #expect(try await connection.int(sql) != first)
      #expect(connection.status.generation == 2)
    }
  }

  @Test func `One that is ended inside a transaction: nothing was committed, and that is known`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint)")
      let error = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          let pid = try session.run(["INSERT INTO t VALUES (1)", "SELECT pg_backend_pid()"])[1][0].int(0)
          try Self.terminate(pid, server)
          try session.run("INSERT INTO t VALUES (2)")
        }
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.isCommitUnknown == false)
      #expect(try await connection.int("SELECT count(*) FROM t") == 0)
    }
  }

  @Test func `One that is gone before the commit is sent: that is known too`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint)")
      let error = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          let pid = try session.run(["INSERT INTO t VALUES (1)", "SELECT pg_backend_pid()"])[1][0].int(0)
          try Self.terminate(pid, server)
        }
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.isCommitUnknown == false)
      #expect(try await connection.int("SELECT count(*) FROM t") == 0)
    }
  }

  @Test func `One that is ended during the commit: its end is unknown`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    let options = testOptions {
      $0.statementTimeout = .seconds(600)
      $0.runTimeout = .seconds(600)
    }
    try await withConnection(options) { connection, _ in
      // A deferred trigger runs inside COMMIT.
      try await connection.execute(
        """
        CREATE TABLE t (n bigint);
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION slow()
        """)
      let pid = try await connection.int("SELECT pg_backend_pid()")
      async let committing = failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          try session.run("INSERT INTO t VALUES (1)")
        }
      }
      let isInCommit =
        "SELECT count(*) FROM pg_stat_activity WHERE pid = \(pid) AND query = 'COMMIT' AND state = 'active'"
      try await eventually("a commit") { try await server.query(isInCommit) == "1\n" }
      try await server.query(Self.termination(of: pid))
      let error = await committing
      #expect(error?.code == .connectionLost)
      #expect(error?.isCommitUnknown == true)
    }
  }

  @Test func `A constraint that is looked at in the commit fails it, and its end is known`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
      let error = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          try session.run("INSERT INTO t VALUES (1), (1)")
        }
      }
      #expect(error?.code == .uniqueViolation)
      #expect(error?.isCommitUnknown == false)
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `The preparation runs on every new connection, and its error is the body's`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    let endpoint = try await server.database()
    let connection = try PostgreSQLConnection(endpoint, options: testOptions()) { session throws(StoreError) in
      if session.generation == 2 { throw StoreError(.misuse, "not this one") }
      try session.run("SELECT pg_advisory_lock(1, 2)")
    }
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    #expect(try await connection.int(held) == 1)
    let before = connection.status
    #expect(before.generation == 1 && before.isConnected && before.lastRoundTrip != nil)
    try await server.query(Self.termination(of: try await connection.int("SELECT pg_backend_pid()")))
    let error = await connection.failure(of: held)
    #expect(error?.message == "not this one")
    #expect(connection.status.isConnected == false)
    await connection.close()
  }

  @Test func `A server that stops, is away and starts again: bodies fail with telling errors, and then succeed`()
    async throws
  {
    try await PrivatePostgreSQL.run { server in
      let endpoint = try await server.database()
      try await withConnection(to: endpoint) { connection, _ in
        #expect(try await connection.int("SELECT 1") == 1)
        try await server.restart()
        #expect(try await connection.int("SELECT 1") == 1)
        #expect(connection.status.generation == 2)
        try await server.stop()
        let error = await connection.failure(of: "SELECT 1")
        #expect(error?.code == .unreachable)
        #expect(error?.isRetriable == true)
        #expect(connection.status.lastError?.code == .unreachable)
        #expect(connection.status.failedConnects >= 1)
        try await server.start()
        try await waitUntilConnected(connection)
        #expect(connection.status.lastError == nil)
      }
    }
  }

  @Test func `The last round trip counts from when it was sent, and shows while the body still runs`() async throws {
    try await withConnection { connection, _ in
      let before = ContinuousClock.now
      try await connection.withSession { session throws(StoreError) in
        try session.run("SELECT 1")
        let first = connection.status.lastRoundTrip
        #expect(first.map { $0 > before } == true)
        let middle = ContinuousClock.now
        try session.run("SELECT pg_sleep(0.02)")
        let second = connection.status.lastRoundTrip
        #expect(second.map { $0 >= middle && $0 + .milliseconds(20) <= .now } == true)
      }
    }
  }
}
