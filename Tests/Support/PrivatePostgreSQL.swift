import CommandEngine
import CountersignConcurrency
import Glibc
package import PostgreSQL
import Synchronization

/// A database server for tests, on a Unix socket and a port of its own, with nothing in it.
///
/// It ends with the object, and in any case with the process of the tests: a watcher waits for a socket to close.
package final class PrivatePostgreSQL: Sendable {
  /// Reason that a test cannot have its server.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The server that all tests of this process share, started when it is first asked for a database.
  package static let shared = SharedPostgreSQL()

  /// Role that owns the databases of ``database()``. No superuser.
  package static let user = "tester"
  /// Password of this role, needed over TCP only.
  package static let password = "tester's password"

  /// Directory of the socket, the log and the data.
  package let directory: String
  /// TCP port on 127.0.0.1, and the number in the socket's name.
  package let port: Int
  private let account: ServerAccount
  private let watcher: Watcher
  private let count = Mutex(0)

  /// Directory of the data.
  package var path: String { "\(directory)/data" }

  /// Runs a server for the length of `body`. Needs the package postgresql-15.
  /// - Parameter settings: lines for its `postgresql.conf`.
  package static func run<T: Sendable>(
    settings: [String] = [], _ body: (PrivatePostgreSQL) async throws -> T
  ) async throws -> T {
    try await admit {
      let server = try await onNewThread { try PrivatePostgreSQL(settings: settings) }
      let result: Result<T, any Error>
      do { result = .success(try await body(server)) } catch { result = .failure(error) }
      try await onNewThread { server.watcher.end() }
      return try result.get()
    }
  }

  /// Tests of this process that use a server at once. Each keeps several connections and the server's processes busy, and
  /// tests of other things measure time meanwhile.
  private static let window = Window(2)
  /// Whether this task is inside ``admit(_:)`` already.
  @TaskLocal private static var isAdmitted = false

  /// Runs a test that uses a server when few others do. A call inside another one does not wait.
  package static func admit<T>(_ body: () async throws -> T) async rethrows -> T {
    guard !isAdmitted else { return try await body() }
    await window.enter()
    defer { window.leave() }
    return try await $isAdmitted.withValue(true, operation: body)
  }

  init(settings: [String] = []) throws {
    account = try ServerAccount()
    directory = try account.makeDirectory()
    port = Int(unusedPort())
    watcher = try Watcher(directory: directory, account: account)
    try account.run([
      "initdb", "--pgdata=\(directory)/data", "--username=postgres", "--auth=trust", "--no-sync", "--no-instructions",
      "--encoding=UTF8", "--locale=C",
    ])
    try writeFile(
      "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n",
      to: "\(path)/pg_hba.conf")
    try configure(
      [
        "listen_addresses = '127.0.0.1'", "port = \(port)", "unix_socket_directories = '\(directory)'", "fsync = off",
        "full_page_writes = off", "shared_buffers = 32MB", "max_connections = 200", "lc_messages = 'C'",
        "wal_level = minimal", "max_wal_senders = 0", "autovacuum = off",
      ] + settings)
    try startNow()
    _ = try psql("CREATE ROLE \(Self.user) LOGIN PASSWORD '\(Self.password.replacing("'", with: "''"))'")
  }

  /// Adds lines to `postgresql.conf`, for the next start or ``reload()``.
  package func configure(_ lines: [String]) throws {
    try writeFile(lines.joined(separator: "\n") + "\n", to: "\(path)/postgresql.conf", append: true)
  }

  /// Makes an empty database.
  /// - Returns: its address by the Unix socket, for the role that owns it.
  package func database() async throws -> PostgreSQLEndpoint {
    let name = count.withLock { count in
      count += 1
      return "test\(count)"
    }
    // Copied as files: by way of the log, which is the default, it takes ten times as long.
    try await query("CREATE DATABASE \(name) OWNER \(Self.user) STRATEGY file_copy")
    return endpoint(database: name)
  }

  /// Makes a database with tables.
  package func database(with parts: [PostgreSQLSchemaPart]) async throws -> PostgreSQLEndpoint {
    let endpoint = try await database()
    let connection = try PostgreSQLConnection(endpoint, options: .patient)
    try await connection.withTransaction { session throws(StoreError) -> Void in
      try session.script("CREATE SCHEMA \(PostgreSQLSchema.name)")
      _ = try PostgreSQLSchema.update(parts, session)
    }
    await connection.close()
    return endpoint
  }

  /// Address of a database by the Unix socket.
  package func endpoint(database: String) -> PostgreSQLEndpoint {
    PostgreSQLEndpoint(
      hosts: [ServerAddress(host: directory, port: port)], database: database, user: Self.user,
      applicationName: "countersign-tests")
  }

  /// The same database over TCP, where the password is needed.
  package func overTCP(_ endpoint: PostgreSQLEndpoint) -> PostgreSQLEndpoint {
    var endpoint = endpoint
    endpoint.hosts = [ServerAddress(host: "127.0.0.1", port: port)]
    endpoint.password = Self.password
    return endpoint
  }

  /// The same database as its superuser, by the Unix socket.
  package func administrator(of endpoint: PostgreSQLEndpoint) -> PostgreSQLEndpoint {
    var endpoint = self.endpoint(database: endpoint.database)
    endpoint.user = "postgres"
    return endpoint
  }

  /// Runs SQL as superuser with `psql`. Suspends meanwhile.
  /// - Returns: the rows, without decoration.
  @discardableResult
  package func query(_ sql: String, database: String = "postgres") async throws -> String {
    try await onNewThread { try self.psql(sql, database: database) }
  }

  /// Runs SQL as superuser with `psql`. Blocks for some 20 ms: for the bodies of connections, which have threads of
  /// their own.
  /// - Returns: the rows, without decoration.
  package func psql(_ sql: String, database: String = "postgres") throws -> String {
    try account.run([
      "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", "\(port)", "-U", "postgres",
      "-d", database, "-c", sql,
    ])
  }

  /// Runs a program as the server's user, for files that belong to the server.
  package static func execute(_ command: [String]) throws {
    try ServerAccount().run(command)
  }

  /// Ends the server at once, as a crash does.
  package func stop() async throws { try await control(["-m", "immediate", "stop"]) }

  package func start() async throws { try await onNewThread { try self.startNow() } }

  package func restart() async throws { try await control(["-m", "fast", "restart"]) }

  /// Has the server read its configuration again.
  package func reload() async throws { try await control(["reload"]) }

  private func control(_ arguments: [String]) async throws {
    try await onNewThread { try self.controlNow(arguments) }
  }

  private func startNow() throws { try controlNow(["start"]) }

  private func controlNow(_ arguments: [String]) throws {
    do {
      try account.run(["pg_ctl", "-D", path, "-s", "-w", "-l", "\(directory)/log"] + arguments)
    } catch {
      let log = (try? account.run(["/usr/bin/tail", "-n", "20", "\(directory)/log"])) ?? "no log"
      throw Failure(description: "\(error)\n\(log)")
    }
  }

  /// Ends the server and removes its directory, for good.
  package func end() { watcher.end() }
}

/// The server that the tests of one process share.
package final class SharedPostgreSQL: Sendable {
  private let starting = Mutex<Task<PrivatePostgreSQL, any Error>?>(nil)

  /// The server, started if need be.
  package var server: PrivatePostgreSQL {
    get async throws {
      let task = starting.withLock { starting in
        let task = starting ?? Task { try await onNewThread { try Self.start() } }
        starting = task
        return task
      }
      return try await task.value
    }
  }

  private static func start() throws -> PrivatePostgreSQL {
    let server = try PrivatePostgreSQL()
    running.withLock { $0 = server }
    atexit { running.withLock { $0?.end() } }
    return server
  }

  /// Makes an empty database: ``PrivatePostgreSQL/database()``.
  package func database() async throws -> PostgreSQLEndpoint { try await server.database() }

  /// Makes a database with tables.
  package func database(with parts: [PostgreSQLSchemaPart]) async throws -> PostgreSQLEndpoint {
    try await server.database(with: parts)
  }

  /// Makes a database with the tables of a store.
  package func storeDatabase() async throws -> PostgreSQLEndpoint {
    try await server.database(with: [StoreSchemaPostgreSQL.part])
  }

  /// The same database as its superuser.
  package func administrator(of endpoint: PostgreSQLEndpoint) async throws -> PostgreSQLEndpoint {
    try await server.administrator(of: endpoint)
  }
}

/// For `atexit`, whose function has no context.
private let running = Mutex<PrivatePostgreSQL?>(nil)

/// Account that the server's programs run under: they refuse to be root's.
private struct ServerAccount: Sendable {
  private static let programs = "/usr/lib/postgresql/15/bin"

  private let name: String?
  private let user: uid_t
  private let group: gid_t

  init() throws {
    guard geteuid() == 0 else {
      (name, user, group) = (nil, geteuid(), getegid())
      return
    }
    for candidate in ["postgres", "nobody"] {
      if let entry = getpwnam(candidate) {
        (name, user, group) = (candidate, entry.pointee.pw_uid, entry.pointee.pw_gid)
        return
      }
    }
    throw PrivatePostgreSQL.Failure(description: "there is no user postgres to run the server as")
  }

  /// Makes a directory with a short path: that of a socket has room for 107 bytes.
  ///
  /// In memory where much is free: the databases of a run have 100,000 files, which some disks take a minute to remove.
  func makeDirectory() throws -> String {
    let parent = hasRoomInMemory ? "/dev/shm" : "/tmp"
    var template = Array("\(parent)/countersign-postgresql-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw PrivatePostgreSQL.Failure(description: "cannot make a directory in \(parent)")
    }
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    guard chown(path, user, group) == 0 else {
      throw PrivatePostgreSQL.Failure(description: "cannot give \(path) to its user")
    }
    return path
  }

  /// A container has a small /dev/shm by default, whatever memory its host has.
  private var hasRoomInMemory: Bool {
    var shared = statvfs()
    guard statvfs("/dev/shm", &shared) == 0, access("/dev/shm", W_OK) == 0 else { return false }
    return Int(shared.f_bavail) * Int(shared.f_frsize) >= Self.roomOfDatabases
      && availableMemory >= 2 * Self.roomOfDatabases
  }

  /// Bytes, several times what all databases of a run take.
  private static let roomOfDatabases = 6 << 30

  /// Bytes.
  private var availableMemory: Int {
    let file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 0 }
    defer { close(file) }
    let line = contents(of: file).split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
  }

  func command(_ arguments: [String]) -> [String] {
    let program = arguments[0].hasPrefix("/") ? arguments[0] : "\(Self.programs)/\(arguments[0])"
    let command = [program] + arguments.dropFirst()
    guard name != nil else { return command }
    return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--"] + command
  }

  @discardableResult
  func run(_ arguments: [String]) throws -> String {
    let file = "/tmp/countersign-output-\(UInt64.random(in: 0 ... .max))"
    let output = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw PrivatePostgreSQL.Failure(description: "cannot write \(file)") }
    unlink(file)
    defer { close(output) }
    let pid = try spawn(command(arguments), input: nil, output: output)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    let text = contents(of: output)
    guard status == 0 else {
      throw PrivatePostgreSQL.Failure(description: "\(arguments[0]) failed (is postgresql-15 installed?): \(text)")
    }
    return text
  }

  private func contents(of descriptor: Int32) -> String {
    lseek(descriptor, 0, SEEK_SET)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A shell that waits for this process to end, or for ``end()``, and then ends the server.
private final class Watcher: Sendable {
  private static let script = """
    read -r nothing
    /usr/lib/postgresql/15/bin/pg_ctl -D "$0/data" -s -m immediate stop
    rm -rf "$0"
    """

  private let pid: pid_t
  private let socket: Mutex<Int32?>

  init(directory: String, account: ServerAccount) throws {
    var ends: [Int32] = [-1, -1]
    // Closed in other children from the beginning: other tests may be starting some now.
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw PrivatePostgreSQL.Failure(description: "cannot make a pair of sockets")
    }
    defer { close(ends[0]) }
    // A session of its own: the keyboard's interrupt must not reach it.
    let command = ["/usr/bin/setsid"] + account.command(["/bin/sh", "-c", Self.script, directory])
    pid = try spawn(command, input: ends[0], output: nil)
    socket = Mutex(ends[1])
  }

  func end() {
    let descriptor = socket.withLock { $0.take() }
    guard let descriptor else { return }
    close(descriptor)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }

  deinit { end() }
}

private func spawn(_ command: [String], input: Int32?, output: Int32?) throws -> pid_t {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  for (target, source) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, output)] {
    if let source {
      posix_spawn_file_actions_adddup2(&actions, source, target)
    } else {
      posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
    }
  }
  var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
  let variables = ["PATH=/usr/bin:/bin", "LC_ALL=C"] + TestRun.variables
  var environment: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
  defer { for text in arguments + environment { free(text) } }
  var pid: pid_t = 0
  guard posix_spawn(&pid, command[0], &actions, nil, &arguments, &environment) == 0 else {
    throw PrivatePostgreSQL.Failure(description: "cannot start \(command[0])")
  }
  return pid
}

private func writeFile(_ text: String, to path: String, append: Bool = false) throws {
  guard let file = fopen(path, append ? "ae" : "we") else {
    throw PrivatePostgreSQL.Failure(description: "cannot write \(path)")
  }
  fputs(text, file)
  fclose(file)
}

/// Runs a body that blocks on a new thread, and suspends until it is done.
package func onNewThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    onNewThread { continuation.resume(with: Result(catching: body)) }
  }
}
