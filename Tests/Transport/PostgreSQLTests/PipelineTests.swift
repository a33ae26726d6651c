import PostgreSQL
import Testing

@Suite struct PipelineTests {
  @Test func `A run is one round trip, whatever it prepares; a transaction adds its commit`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint)")
      let before = connection.status.roundTrips
      let sum = try await connection.withTransaction { session throws(StoreError) in
        let inserts = (1...20).map { PostgreSQLStatement("INSERT INTO t VALUES ($1 + 0 * \($0))", [.integer($0)]) }
        let results = try session.run(inserts + ["SELECT sum(n)::bigint FROM t"])
        #expect(results.map(\.affected) == [Int](repeating: 1, count: 21))
        #expect(session.roundTrips == 1)
        return try results[20][0].int(0)
      }
      #expect(sum == 210)
      #expect(connection.status.roundTrips - before == 2)
      #expect(try await connection.int("SELECT count(*) FROM t") == 20)
    }
  }

  @Test func `An error in the middle fails the run, and nothing of it stays`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint PRIMARY KEY)")
      let error = await failure { () throws(StoreError) in
        try await connection.withSession { session throws(StoreError) in
          try session.run([
            "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "SELECT 1 / 0",
          ])
        }
      }
      #expect(error?.code == .uniqueViolation)
      #expect(error?.constraint == "t_pkey")
      #expect(error?.isRetriable == false)
      #expect(try await connection.int("SELECT count(*) FROM t") == 0)
      #expect(connection.status.generation == 1)
      // Statements that were skipped are prepared when they are needed.
      let rows = try await connection.withSession { session throws(StoreError) in
        try session.run(["INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (1)", "SELECT count(*) FROM t"])
      }
      #expect(try rows[2][0].int(0) == 2)
    }
  }

  @Test func `A transaction is undone by an error of the body, and of a run`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint)")
      let own = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          try session.run("INSERT INTO t VALUES (1)")
          throw StoreError(.content, "of the body")
        }
      }
      #expect(own?.message == "of the body")
      let swallowed = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          try session.run("INSERT INTO t VALUES (1)")
          // Ignored, as a careless body does.
          _ = try? session.run("SELECT 1 / 0")
          do throws(StoreError) { try session.run("SELECT 1") } catch { #expect(error.code == .content) }
        }
      }
      #expect(swallowed?.code == .content)
      #expect(try await connection.int("SELECT count(*) FROM t") == 0)
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `A body that runs nothing costs no round trip`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("SELECT 1")
      let before = connection.status.roundTrips
      #expect(
        try await connection.withTransaction { session throws(StoreError) in try session.run([]).count } == 0)
      #expect(connection.status.roundTrips == before)
    }
  }

  @Test(
    arguments: ["BEGIN", " commit", "rollback to x", "SAVEPOINT a", "Start transaction", "prepare transaction 'x'"])
  func `Transaction control is refused`(sql: String) async throws {
    try await withConnection { connection, _ in
      let error = await connection.failure { session throws(StoreError) in try session.run(sql) }
      #expect(error?.code == .misuse)
    }
  }

  @Test func `A statement whose table was changed is prepared anew, in a first run without being seen`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (a bigint); INSERT INTO t VALUES (1)")
      let statement = PostgreSQLStatement("SELECT * FROM t")
      let columns: @Sendable (PostgreSQLSession) throws(StoreError) -> Int = { session throws(StoreError) in
        try session.run([statement])[0].columnCount
      }
      #expect(try await connection.withSession(columns) == 1)
      try await connection.execute("ALTER TABLE t ADD b bigint")
      #expect(try await connection.withSession(columns) == 2)
      try await connection.execute("ALTER TABLE t ADD c bigint")
      #expect(try await connection.withTransaction(columns) == 3)
      try await connection.execute("ALTER TABLE t ADD d bigint")
      let later = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          try session.run("SELECT 1")
          return try columns(session)
        }
      }
      #expect(later?.code == .serialization)
      #expect(try await connection.withTransaction(columns) == 4)
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `More statements than are kept: all work, and the server keeps no more either`() async throws {
    try await withConnection(testOptions { $0.maxStatements = 8 }) { connection, _ in
      for _ in 0..<3 {
        let sum = try await connection.withSession { session throws(StoreError) in
          var sum = 0
          for number in 0..<30 { sum += try session.int("SELECT \(number)") }
          return sum
        }
        #expect(sum == 435)
      }
      let kept = try await connection.withSession { session throws(StoreError) in
        try session.run([PostgreSQLStatement("SELECT count(*) FROM pg_prepared_statements", isPrepared: false)])[0][0]
          .int(0)
      }
      #expect(kept == 8)
    }
  }

  @Test func `A result has limits of rows and bytes, and the connection goes on after one beyond`() async throws {
    let options = testOptions {
      $0.maxValueBytes = 1000
      $0.maxRunBytes = 100_000
    }
    try await withConnection(options) { connection, _ in
      let tooLarge = [
        PostgreSQLStatement("SELECT generate_series(1, 11)", maxRows: 10), "SELECT repeat('x', 1001)",
        "SELECT repeat('x', 900) FROM generate_series(1, 200)",
      ]
      for statement in tooLarge {
        let error = await connection.failure { session throws(StoreError) in try session.run([statement]) }
        #expect(error?.code == .tooLarge)
      }
      let values = (0..<200).map { _ in PostgreSQLStatement("SELECT $1", [.bytes([UInt8](repeating: 1, count: 900))]) }
      let error = await connection.failure { session throws(StoreError) in try session.run(values) }
      #expect(error?.code == .tooLarge)
      let found = try await connection.int("SELECT 1")
      #expect(found == 1)
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `A run that is larger than every buffer on the way goes through in both directions`() async throws {
    try await withConnection { connection, _ in
      let value = [UInt8](repeating: 7, count: 1 << 20)
      let statements = (0..<20).map { _ in PostgreSQLStatement("SELECT $1", [.bytes(value)]) }
      let rows = try await connection.withSession { session throws(StoreError) in try session.run(statements) }
      for result in rows { #expect(try result[0].bytes(0) == value) }
    }
  }

  @Test func `A script runs as one, in a transaction or outside`() async throws {
    try await withConnection { connection, _ in
      let broken = await failure { () throws(StoreError) in
        try await connection.execute("CREATE TABLE a (n int); CREATE TABLE a (n int)")
      }
      #expect(broken?.code == .statement)
      let undone = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          try session.script("CREATE TABLE a (n int); INSERT INTO a VALUES (1), (2)")
          let count = try session.int("SELECT count(*) FROM a")
          #expect(count == 2)
          _ = try session.run("SELECT 1 / 0")
        }
      }
      #expect(undone?.code == .content)
      try await connection.execute("CREATE TABLE a (n int)")
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `COPY, which the protocol answers in another way, ends the connection and not the process`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (n bigint)")
      let error = await failure { () throws(StoreError) in
        try await connection.withSession { session throws(StoreError) in try session.run("/**/ COPY t FROM STDIN")
        }
      }
      #expect(error != nil)
      #expect(try await connection.int("SELECT 1") == 1)
    }
  }

  @Test func `Notices of the server disturb nothing`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("DO $$ BEGIN FOR i IN 1..1000 LOOP RAISE WARNING 'noise'; END LOOP; END $$")
      #expect(try await connection.int("SELECT 1") == 1)
    }
  }

  @Test func `A session is of no use after its body`() async throws {
    // Written in the body, and read after it.
    final class Leak: @unchecked Sendable { var session: PostgreSQLSession? }
    try await withConnection { connection, _ in
      let leak = Leak()
      try await connection.withSession { session throws(StoreError) in leak.session = session }
      let error = #expect(throws: StoreError.self) { try leak.session?.run("SELECT 1") }
      #expect(error?.code == .misuse)
    }
  }
}
