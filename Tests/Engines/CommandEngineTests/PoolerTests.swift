import Glibc
import PostgreSQL
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite("Poolers before PostgreSQL", .enabled(if: access(Pooler.program, X_OK) == 0))
struct PoolerTests {
  @Test func `One that gives each transaction another session is refused, with the remedy`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let pooler = try await Pooler(before: database.endpoint, mode: "transaction")
      defer { pooler.end() }
      for _ in 0..<3 {
        let error = await #expect(throws: StoreError.self) { try await PostgreSQLStore.open(pooler.endpoint) }
        #expect(error?.code == .schema)
        #expect(error?.message.contains("pool_mode = session") == true)
      }
    }
  }

  @Test func `Connections that the server ends during the look are not taken for a pooler's`() async throws {
    try await PostgreSQLUnderTest.with { database in
      var endpoint = database.endpoint
      endpoint.applicationName = "looking for a pooler"
      let name = endpoint.applicationName
      let check = try PoolerCheck(endpoint, .patient) {
        do {
          try await database.administrate { session throws(StoreError) -> Void in
            try session.run(
              "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = $1", [.text(name)]
            )
          }
        } catch { Issue.record(error) }
      }
      let error = await #expect(throws: StoreError.self) { try await check.run() }
      #expect(error?.code == .connectionLost)
    }
  }

  @Test func `One that gives each connection a session of its own is none of our business`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let pooler = try await Pooler(before: database.endpoint, mode: "session")
      defer { pooler.end() }
      let store = try await PostgreSQLStore.open(pooler.endpoint)
      let other = try await PostgreSQLStore.open(pooler.endpoint)
      let sent = try await store.add { set throws(StoreError) in try set.send(message("a")) }
      #expect(await store.owned(sent) == sent)
      #expect(try await other.claimMessages(limit: 9, at: start).isEmpty)
      await store.close()
      #expect(try await other.claimMessages(limit: 9, at: start).texts == ["a"])
      await other.close()
    }
  }
}

/// A pgbouncer before a database. It ends with the tests, whose socket it waits for.
private final class Pooler: Sendable {
  static let program = "/usr/sbin/pgbouncer"

  let endpoint: PostgreSQLEndpoint
  private let directory: String
  private let input: Int32
  private let shell: pid_t

  init(before endpoint: PostgreSQLEndpoint, mode: String) async throws {
    var template = Array("/tmp/countersign-pooler-XXXXXX".utf8CString)
    directory = try #require(mkdtemp(&template).map { String(cString: $0) })
    chmod(directory, 0o755)
    let port = Int(unusedPort())
    let server = try await PrivatePostgreSQL.shared.server
    let password = PrivatePostgreSQL.password.replacing("'", with: "''")
    let lines = [
      "[databases]", "* = host=127.0.0.1 port=\(server.port) user=\(endpoint.user) password='\(password)'",
      "[pgbouncer]", "listen_addr = 127.0.0.1",
      "listen_port = \(port)", "unix_socket_dir =", "auth_type = any", "pool_mode = \(mode)", "default_pool_size = 20",
      "ignore_startup_parameters = extra_float_digits,options", "logfile = ", "pidfile = ",
    ]
    let file = try #require(fopen("\(directory)/pgbouncer.ini", "we"))
    fputs(lines.joined(separator: "\n") + "\n", file)
    fclose(file)
    var ends: [Int32] = [-1, -1]
    // Closed in other children from the beginning: other tests may be starting some now.
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
    input = ends[1]
    shell = try Self.start(directory, input: ends[0])
    close(ends[0])
    var copy = endpoint
    copy.hosts = [ServerAddress(host: "127.0.0.1", port: port)]
    self.endpoint = copy
    try await Self.wait(for: port)
  }

  func end() {
    close(input)
    // A child that nobody waits for keeps the library from seeing the end of a test's own process.
    var status: Int32 = 0
    while waitpid(shell, &status, 0) < 0, errno == EINTR {}
    unlink("\(directory)/pgbouncer.ini")
    rmdir(directory)
  }

  private static let script = """
    as=""
    if [ "$(id -u)" = 0 ]; then as="setpriv --reuid=nobody --clear-groups --"; fi
    $as \(program) -q "$0/pgbouncer.ini" </dev/null & read -r nothing
    # Other signals are blocked for the children of this process.
    kill -9 $!
    """

  private static func start(_ directory: String, input: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    for output in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
    }
    let texts = ["/bin/sh", "-c", script, directory]
    var arguments: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
    let variables = ["PATH=/usr/bin:/bin"] + TestRun.variables
    var environment: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var pid: pid_t = 0
    try #require(posix_spawn(&pid, "/bin/sh", &actions, nil, &arguments, &environment) == 0)
    return pid
  }

  private static func wait(for port: Int) async throws {
    for _ in 0..<6_000 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = RawServer.loopback(port: UInt16(port))
      let status = withUnsafeBytes(of: &address) { bytes in
        connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
      if status == 0 { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("pgbouncer does not start")
  }
}
