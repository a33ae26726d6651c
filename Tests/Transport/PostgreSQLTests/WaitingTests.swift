import Glibc
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite struct WaitingTests {
  @Test func `A statement ends at its time-out, and the connection goes on`() async throws {
    try await withConnection(testOptions { $0.statementTimeout = .milliseconds(300) }) { connection, _ in
      let error = await connection.failure(of: "SELECT 1 FROM pg_sleep(9)")
      #expect(error?.code == .statementTimeout)
      #expect(error?.isRetriable == true)
      let one = try await connection.int("SELECT 1")
      #expect(one == 1)
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `A wait for a lock ends at its time-out`() async throws {
    try await withConnection { holder, endpoint in
      try await holder.execute("CREATE TABLE t (n bigint)")
      try await withConnection(to: endpoint, testOptions { $0.lockTimeout = .milliseconds(50) }) { waiter, _ in
        let (locked, tried) = (Gate(2), Gate(2))
        async let holding: Void = holder.withTransaction { session throws(StoreError) in
          try session.run("LOCK TABLE t")
          locked.arriveAndWait()
          tried.arriveAndWait()
        }
        let error = await failure { () throws(StoreError) in
          try await waiter.withSession { session throws(StoreError) in
            locked.arriveAndWait()
            defer { tried.arriveAndWait() }
            try session.run("SELECT count(*) FROM t")
          }
        }
        #expect(error?.code == .lockTimeout)
        try await holding
      }
    }
  }

  @Test func `A server that says nothing any more is left, and the next body finds another connection`() async throws {
    let options = testOptions {
      $0.statementTimeout = .seconds(2)
      $0.answerGrace = .seconds(1)
    }
    try await withConnection(options) { connection, _ in
      let pid = pid_t(try await connection.int("SELECT pg_backend_pid()"))
      kill(pid, SIGSTOP)
      defer { kill(pid, SIGCONT) }
      let begun = ContinuousClock.now
      let error = await connection.failure(of: "SELECT 1")
      #expect(error?.code == .connectionLost)
      #expect(error?.isCommitUnknown == false)
      #expect(begun.duration(to: .now) < .seconds(30))
      #expect(connection.status.isConnected == false)
      #expect(try await connection.int("SELECT 1") == 1)
      #expect(connection.status.generation == 2)
      #expect(connection.status.losses == 1)
    }
  }

  @Test func `A run has a limit of its own, for a heartbeat for instance`() async throws {
    try await withConnection { connection, _ in
      let error = await failure { () throws(StoreError) in
        try await connection.withSession { session throws(StoreError) in
          try session.run(["SELECT pg_sleep(9)"], within: .milliseconds(100))
        }
      }
      #expect(error?.code == .connectionLost)
    }
  }

  @Test func `A server that talks all the time without an end is left as well`() async throws {
    try await withConnection { connection, _ in
      let error = await connection.failure { session throws(StoreError) in
        let rows = PostgreSQLStatement("SELECT generate_series(1, 1000000000)", maxRows: 10)
        try session.run([rows], within: .milliseconds(200))
      }
      // The server's own limit would be another error.
      #expect(error?.code == .connectionLost)
    }
  }

  @Test func `An open transaction that does nothing is ended by the server`() async throws {
    let server = try await PrivatePostgreSQL.shared.server
    try await withConnection(testOptions { $0.idleInTransactionTimeout = .milliseconds(50) }) { connection, _ in
      let error = await failure { () throws(StoreError) in
        try await connection.withTransaction { session throws(StoreError) in
          let pid = try session.int("SELECT pg_backend_pid()")
          var isThere = true
          while isThere {
            usleep(50_000)
            do { isThere = try !server.psql("SELECT 1 FROM pg_stat_activity WHERE pid = \(pid)").isEmpty } catch {
              throw StoreError(.misuse, "\(error)")
            }
          }
          try session.run("SELECT 1")
        }
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.isCommitUnknown == false)
    }
  }

  @Test func `Closing cancels the running statement, refuses what waits, and takes no longer than it says`()
    async throws
  {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let connection = try PostgreSQLConnection(endpoint, options: testOptions())
    let isRunning = Gate(2)
    async let running = failure { () throws(StoreError) in
      try await connection.withSession { session throws(StoreError) in
        try session.run("SELECT 1")
        isRunning.arriveAndWait()
        try session.run("SELECT pg_sleep(600)")
      }
    }
    try await onNewThread { isRunning.arriveAndWait() }
    async let waiting = connection.failure(of: "SELECT 1")
    let begun = ContinuousClock.now
    await connection.close(within: .milliseconds(100))
    #expect(begun.duration(to: .now) < .seconds(30))
    #expect(await running?.code == .closed)
    #expect(await waiting?.code == .closed)
    let late = await connection.failure(of: "SELECT 1")
    #expect(late?.code == .closed)
    #expect(connection.status.isConnected == false)
  }

  @Test func `The last body of a connection runs behind the one that runs, and none runs behind it`() async throws {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let connection = try PostgreSQLConnection(endpoint, options: testOptions())
    let order = Order()
    let (isRunning, mayGoOn) = (Gate(2), Gate(2))
    async let running = failure { () throws(StoreError) in
      try await connection.withSession { session throws(StoreError) -> Void in
        isRunning.arriveAndWait()
        mayGoOn.arriveAndWait()
        try session.run("SELECT 1")
        order.add("running")
      }
    }
    try await onNewThread { isRunning.arriveAndWait() }
    async let waiting = failure { () throws(StoreError) in
      try await connection.withSession { _ in order.add("waiting") }
    }
    try await eventually { connection.status.waiting >= 2 }
    async let end: Void = connection.close(within: .seconds(60)) { session throws(StoreError) in
      try session.run("SELECT pg_advisory_unlock_all()")
      order.add("last")
    }
    #expect(await waiting?.code == .closed)
    try await onNewThread { mayGoOn.arriveAndWait() }
    await end
    #expect(await running == nil)
    #expect(order.names == ["running", "last"])
  }

  @Test func `A server that does not even hear the cancellation is cut off`() async throws {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let connection = try PostgreSQLConnection(endpoint, options: testOptions())
    let pid = pid_t(try await connection.int("SELECT pg_backend_pid()"))
    kill(pid, SIGSTOP)
    defer { kill(pid, SIGCONT) }
    async let running = connection.failure(of: "SELECT 1")
    try await eventually { connection.status.waiting > 0 }
    let begun = ContinuousClock.now
    await connection.close(within: .milliseconds(50))
    #expect(begun.duration(to: .now) < .seconds(30))
    #expect(await running?.code == .closed)
  }

  @Test func `A pool runs no more bodies at once than it has connections, and refuses more than may wait`() async throws
  {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let pool = try PostgreSQLConnection(
      readersOf: endpoint,
      options: testOptions {
        $0.maxReaders = 2
        $0.maxWaiting = 4
      })
    let (inside, leave) = (Gate(3), Gate(3))
    let held = (0..<2).map { _ in
      Task {
        try await pool.withSession { session throws(StoreError) in
          let pid = try session.int("SELECT pg_backend_pid()")
          inside.arriveAndWait()
          leave.arriveAndWait()
          return pid
        }
      }
    }
    try await onNewThread { inside.arriveAndWait() }
    let waiting = (0..<2).map { _ in
      Task { try await pool.withSession { session throws(StoreError) in try session.int("SELECT 1") } }
    }
    try await eventually { pool.status.waiting >= 4 }
    let refused = await failure { () throws(StoreError) in
      try await pool.withSession { session throws(StoreError) in try session.int("SELECT 1") }
    }
    #expect(refused?.code == .overloaded)
    try await onNewThread { leave.arriveAndWait() }
    var pids: Set<Int> = []
    for task in held { pids.insert(try await task.value) }
    #expect(pids.count == 2)
    for task in waiting { #expect(try await task.value == 1) }
    await pool.close()
  }

  @Test func `A pool only reads`() async throws {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let pool = try PostgreSQLConnection(readersOf: endpoint, options: testOptions())
    let error = await failure { () throws(StoreError) in
      try await pool.withTransaction { session throws(StoreError) in try session.run("CREATE TABLE t (n int)") }
    }
    #expect(error?.code == .readOnly)
    await pool.close()
  }
}

private final class Order: Sendable {
  private let state = Mutex<[String]>([])

  var names: [String] { state.withLock { $0 } }

  func add(_ name: String) { state.withLock { $0.append(name) } }
}
