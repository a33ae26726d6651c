import PostgreSQL
import Testing

@Suite struct ErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let sql: String
    let code: StoreError.Code
    let state: String
    var isRetriable = false
    var testDescription: String { "\(state) \(sql)" }
  }

  static let cases = [
    Case(sql: "SELECT 'secret'::bigint", code: .content, state: "22P02"),
    Case(sql: "SELECT 1 / 0", code: .content, state: "22012"),
    Case(sql: "INSERT INTO t VALUES (1, 'secret')", code: .uniqueViolation, state: "23505"),
    Case(sql: "INSERT INTO t VALUES (-1, 'secret')", code: .constraint, state: "23514"),
    Case(sql: "INSERT INTO t VALUES (2, NULL)", code: .constraint, state: "23502"),
    Case(sql: "SELECT * FROM missing", code: .schema, state: "42P01"),
    Case(sql: "SELECT missing FROM t", code: .schema, state: "42703"),
    Case(sql: "SELECT * FROM missing.t", code: .schema, state: "42P01"),
    Case(sql: "SELECT missing(1)", code: .schema, state: "42883"),
    Case(sql: "SELEC 1", code: .statement, state: "42601"),
    Case(sql: "SELECT rolpassword FROM pg_authid", code: .permission, state: "42501"),
    Case(
      sql: "DO $$ BEGIN RAISE 'secret' USING ERRCODE = '40001'; END $$", code: .serialization, state: "40001",
      isRetriable: true),
    Case(
      sql: "DO $$ BEGIN RAISE 'secret' USING ERRCODE = '40P01'; END $$", code: .deadlock, state: "40P01",
      isRetriable: true),
    Case(
      sql: "DO $$ BEGIN RAISE 'secret' USING ERRCODE = '53100'; END $$", code: .full, state: "53100",
      isRetriable: true),
    Case(
      sql: "DO $$ BEGIN RAISE 'full' USING ERRCODE = '53200'; END $$", code: .outOfResources, state: "53200",
      isRetriable: true),
    Case(
      sql: "DO $$ BEGIN RAISE 'io' USING ERRCODE = '58030'; END $$", code: .outOfResources, state: "58030",
      isRetriable: true),
    Case(sql: "DO $$ BEGIN RAISE 'secret' USING ERRCODE = 'XX000'; END $$", code: .statement, state: "XX000"),
    Case(sql: "DO $$ BEGIN RAISE 'secret'; END $$", code: .statement, state: "P0001"),
    Case(sql: "DO $$ BEGIN RAISE 'secret' USING ERRCODE = '23P01'; END $$", code: .uniqueViolation, state: "23P01"),
    Case(sql: "DO $$ BEGIN RAISE 'long' USING ERRCODE = '54000'; END $$", code: .tooLarge, state: "54000"),
    Case(
      sql: "DO $$ BEGIN RAISE 'ro' USING ERRCODE = '25006'; END $$", code: .readOnly, state: "25006", isRetriable: true),
  ]

  @Test(arguments: cases)
  func `Every class has its code, and no message quotes data`(_ test: Case) async throws {
    try await withConnection { connection, _ in
      try await connection.execute(
        "CREATE TABLE t (n bigint PRIMARY KEY CHECK (n > 0), s text NOT NULL); INSERT INTO t VALUES (1, 'a')")
      let error = await connection.failure { session throws(StoreError) in try session.run(test.sql) }
      #expect(error?.code == test.code)
      #expect(error?.sqlState == test.state)
      #expect(error?.isRetriable == test.isRetriable)
      #expect(error?.isCommitUnknown == false)
      // The statement itself is quoted, which has no data in it but here.
      let message = error?.message.replacing(test.sql, with: "") ?? ""
      #expect(!message.contains("secret"))
      #expect(message.utf8.count < 500)
    }
  }

  @Test func `A value that breaks a constraint is in no error`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (s text PRIMARY KEY)")
      let insert = PostgreSQLStatement("INSERT INTO t VALUES ($1)", ["secret"])
      let error = await connection.failure { session throws(StoreError) in try session.run([insert, insert]) }
      #expect(error?.code == .uniqueViolation)
      #expect(!String(reflecting: error).contains("secret"))
    }
  }

  @Test func `A deadlock ends one transaction, and the other one goes on`() async throws {
    try await withConnection { first, endpoint in
      try await first.execute("CREATE TABLE t (n bigint PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
      try await withConnection(to: endpoint) { second, _ in
        let gate = Gate(2)
        async let one = failure { () throws(StoreError) in try await lockBoth(first, [1, 2], gate) }
        async let other = failure { () throws(StoreError) in try await lockBoth(second, [2, 1], gate) }
        let errors = await [one, other].compactMap { $0?.code }
        #expect(errors == [.deadlock])
      }
    }
  }

  private func lockBoth(
    _ connection: PostgreSQLConnection, _ rows: [Int64], _ gate: Gate
  ) async throws(StoreError) {
    try await connection.withTransaction { session throws(StoreError) in
      try session.run("SELECT FROM t WHERE n = $1 FOR UPDATE", [.integer(rows[0])])
      gate.arriveAndWait()
      try session.run("SELECT FROM t WHERE n = $1 FOR UPDATE", [.integer(rows[1])])
    }
  }
}
