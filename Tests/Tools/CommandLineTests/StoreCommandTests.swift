import CommandEngine
import CountersignTelemetry
import FoundationEssentials
import PostgreSQL
import SQLite
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandLine

@Suite("countersign store", .onSharedServer)
struct StoreCommandTests {
  /// Roles that no other test has: they belong to the whole server.
  private func roles() -> StoreRoles {
    let suffix = UUID().uuidString.lowercased().filter { $0 != "-" }.prefix(12)
    return StoreRoles(owner: "owner_\(suffix)", service: "coordinator_\(suffix)", worker: "worker_\(suffix)")
  }

  private func creation(_ endpoint: PostgreSQLEndpoint, _ roles: StoreRoles, _ passwords: [String: Secret] = [:])
    -> StoreCreation
  {
    StoreCreation(
      endpoint: endpoint, roles: roles, passwords: passwords, parts: StoreParts.all, timeout: .patience)
  }

  private func findings(
    _ endpoint: PostgreSQLEndpoint, _ user: String, _ parts: [PostgreSQLSchemaPart],
    clock: any WallClock = SystemClock()
  ) async -> [Finding] {
    var endpoint = endpoint
    endpoint.user = user
    let check = DatabaseCheck(name: "database", endpoint: endpoint, parts: parts, clock: clock, timeout: .patience)
    // The tests' server has fsync off, for speed.
    return await check.findings().filter { !$0.detail.hasPrefix("fsync is off") }
  }

  private func administrator() async throws -> PostgreSQLEndpoint {
    try await PrivatePostgreSQL.shared.administrator(of: try await PrivatePostgreSQL.shared.database())
  }

  @Test func `It makes database, roles and tables once, and whatever is there stays`() async throws {
    var endpoint = try await administrator()
    endpoint.database += "_new"
    let roles = roles()
    let first = try await creation(endpoint, roles).run()
    #expect(first.contains("database \(endpoint.database): made, owned by \(roles.owner)"))
    #expect(first.contains("role \(roles.owner): made"))
    #expect(first.contains("tables of store: brought to version \(StoreSchemaPostgreSQL.part.version)"))
    let second = try await creation(endpoint, roles).run()
    #expect(second.allSatisfy { !$0.contains("made") && !$0.contains("brought") })
    #expect(second.contains("role \(roles.worker ?? "-"): was there"))
    for (user, parts) in [(roles.service, StoreParts.coordinator), (roles.worker ?? "-", StoreParts.worker)] {
      let found = await findings(endpoint, user, parts)
      #expect(found.allSatisfy { $0.status == .ok }, "\(found)")
    }
    // Each role has its own tables, and no others.
    for (user, parts) in [(roles.service, StoreParts.worker), (roles.worker ?? "-", StoreParts.coordinator)] {
      let found = await findings(endpoint, user, parts)
      #expect(found.contains { $0.check == "database: tables" && $0.status == .failed }, "\(found)")
    }
  }

  @Test func `Accounts have a database of their own, with tables of their own, and no workers`() async throws {
    let endpoint = try await administrator()
    var roles = StoreRoles.accounts
    #expect(roles.users == ["countersign_accounts"])
    roles.owner = self.roles().owner
    roles.service = self.roles().service
    let creation = StoreCreation(
      endpoint: endpoint, roles: roles, passwords: [:], parts: StoreParts.coordinator, timeout: .patience)
    let lines = try await creation.run()
    #expect(!lines.contains { $0.contains("worker") || $0.contains("ledger") }, "\(lines)")
    #expect(await findings(endpoint, roles.service, StoreParts.coordinator).allSatisfy { $0.status == .ok })
    let printed = await Run(FakeBackend(), arguments: ["store", "create", "--print", "--for-accounts"])
    #expect(printed.code == .success && printed.output.contains("CREATE ROLE countersign_accounts LOGIN;"))
    #expect(!printed.output.contains("worker") && !printed.output.contains("ledger_job"))
    // One name for two roles is one role.
    let same = ["store", "create", "--print", "--coordinator", "one", "--worker", "one"]
    #expect(await Run(FakeBackend(), arguments: same).code == .success)
  }

  @Test func `Errors name what to change: an absent database, a user without rights, a wrong password`() async throws {
    let administrator = try await administrator()
    let roles = roles()
    let lines = try await creation(administrator, roles).run()
    #expect(lines.contains { $0.hasPrefix("role \(roles.worker ?? "-"): made, without a password") })
    var coordinator = administrator
    coordinator.user = roles.service
    let stranger = await #expect(throws: StoreError.self) { _ = try await creation(coordinator, roles).run() }
    #expect(stranger?.message.contains("name a superuser") == true)
    coordinator.database += "_absent"
    let absent = await #expect(throws: StoreError.self) { _ = try await creation(coordinator, roles).run() }
    #expect(absent?.message.contains("\(coordinator.database) does not exist") == true)
    let missing = await findings(coordinator, roles.service, StoreParts.coordinator)
    #expect(missing.map(\.status) == [.failed])
    #expect(missing.first?.hint?.contains("correct the database's name") == true)
    #expect(CommandLineError(StoreError(.loginRefused, "no")).description.contains("--password-file"))
  }

  @Test func `Processes change rows, and no tables`() async throws {
    var endpoint = try await administrator()
    let roles = roles()
    _ = try await creation(endpoint, roles).run()
    endpoint.user = roles.service
    let connection = try PostgreSQLConnection(endpoint, options: .patient)
    for sql in ["DROP TABLE store_record", "CREATE TABLE countersign.mine (a int)", "TRUNCATE store_inbox"] {
      let error = await #expect(throws: StoreError.self, "\(sql)") {
        try await connection.withSession { session throws(StoreError) in try session.script(sql) }
      }
      #expect(error?.code == .permission, "\(sql)")
    }
    await connection.close()
  }

  @Test func `Passwords are set without the server's log seeing them, and let the processes in`() async throws {
    let endpoint = try await administrator()
    let roles = roles()
    let lines = try await creation(endpoint, roles, [roles.service: Secret("it's hunter2")]).run()
    #expect(lines.contains("role \(roles.service): password set"))
    #expect(!lines.joined().contains("hunter2"))
    var coordinator = try await PrivatePostgreSQL.shared.server.overTCP(endpoint)
    (coordinator.user, coordinator.password) = (roles.service, "it's hunter2")
    let connection = try PostgreSQLConnection(coordinator, options: .patient)
    #expect(
      try await connection.withSession { session throws(StoreError) in try session.run("SELECT 1")[0].int(0) } == 1
    )
    await connection.close()
  }

  @Test func `The owner of a database needs no further rights when the roles are there, and is told what is missing`()
    async throws
  {
    let endpoint = try await PrivatePostgreSQL.shared.database()
    let roles = roles()
    let error = await #expect(throws: StoreError.self) { _ = try await creation(endpoint, roles).run() }
    #expect(error?.code == .permission)
    #expect(error?.message.contains("CREATE ROLE \(roles.owner) NOLOGIN") == true)
    let connection = try PostgreSQLConnection(
      try await PrivatePostgreSQL.shared.administrator(of: endpoint), options: .patient)
    try await connection.withSession { session throws(StoreError) in
      try session.script("CREATE ROLE \(roles.service) LOGIN; CREATE ROLE \(roles.worker ?? "-") LOGIN")
    }
    await connection.close()
    var own = roles
    own.owner = PrivatePostgreSQL.user
    let lines = try await creation(endpoint, own).run()
    #expect(lines.contains { $0.hasPrefix("schema countersign in \(endpoint.database): made") })
    #expect(await findings(endpoint, roles.service, StoreParts.coordinator).allSatisfy { $0.status == .ok })
  }

  @Test func `The printed statements make the same`() async throws {
    let result = await Run(FakeBackend(), arguments: ["store", "create", "--print", "--owner", "the_owner"])
    #expect(result.code == .success)
    for text in ["CREATE ROLE the_owner NOLOGIN;", "CREATE TABLE store_record", "CREATE TABLE ledger_job", "\\connect"]
    {
      #expect(result.output.contains(text), "\(text)")
    }
    #expect(await Run(FakeBackend(), arguments: ["store", "create"]).code == .usage)
    #expect(
      await Run(FakeBackend(), arguments: ["store", "create", "--print", "--owner", "Robert'); DROP"]).code == .usage)
    let secret = await Run(FakeBackend(), arguments: ["store", "check", "--url", "postgresql://me:hunter2@h/d"])
    #expect(!secret.error.contains("hunter2") && secret.error.contains("--password-file"))
  }

  @Test func `The check finds what a process would stumble over`() async throws {
    let endpoint = try await administrator()
    let roles = roles()
    let bare = await findings(endpoint, "postgres", StoreParts.coordinator)
    #expect(bare.contains { $0.detail.contains("countersign store create") })
    _ = try await creation(endpoint, roles).run()
    let late = ManualClock(SystemClock().now() - .seconds(30))
    let behind = await findings(endpoint, roles.service, StoreParts.coordinator, clock: late)
    #expect(behind.contains { $0.check == "database: clock" && $0.status == .failed })
    let connection = try PostgreSQLConnection(endpoint, options: .patient)
    let coordinator = roles.service
    try await connection.withSession { session throws(StoreError) in
      try session.script("ALTER ROLE \(coordinator) SET synchronous_commit = off")
    }
    let unsafe = await findings(endpoint, coordinator, StoreParts.coordinator)
    #expect(unsafe.contains { $0.check == "database: durability" && $0.status == .warning })
    try await connection.withSession { session throws(StoreError) in
      try session.script("ALTER ROLE \(coordinator) SET default_transaction_read_only = on")
    }
    await connection.close()
    let readOnly = await findings(endpoint, coordinator, StoreParts.coordinator)
    #expect(readOnly.map(\.status) == [.failed])
    #expect(readOnly.first?.hint?.contains("the one that takes writes is used") == true)
    var nowhere = endpoint
    nowhere.hosts = [ServerAddress(host: "127.0.0.1", port: 1)]
    #expect(await findings(nowhere, "postgres", StoreParts.coordinator).map(\.status) == [.failed])
  }

  @Test func `A service's data is copied into its database and back, with no rights but the service's`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "copy-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.
    let file = { (name: String) in directory.appending(path: name).path(percentEncoded: false) }
    let roles = roles()
    let administrator = try await administrator()
    _ = try await creation(administrator, roles, [roles.service: Secret("it's hunter2")]).run()
    try Data("it's hunter2\n".utf8).write(to: URL(filePath: file("password")))
    let server = try await PrivatePostgreSQL.shared.server.overTCP(administrator)
    let host = try #require(server.hosts.first)
    let url = "postgresql://\(roles.service)@\(host.host):\(host.port)/\(server.database)"
    func copy(_ source: String, _ target: String, _ options: String...) async -> Run {
      await Run(
        FakeBackend(),
        arguments: ["store", "copy", source, target, "--password-file", file("password")] + options)
    }
    let absent = await copy(file("a.sqlite"), url)
    #expect(absent.code == .badInput && absent.error.contains("does not exist"), "\(absent.error)")
    let database = try await Database.open(
      path: file("a.sqlite"), kind: .accounts, migrations: ServiceSchema.migrations)
    let store = try await SQLiteStore(in: database)
    _ = try await store.transact(at: SystemClock().now()) { set throws(StoreError) -> Void in
      guard let id = RecordID(RecordKind("thing"), "a") else { return }
      try set.put(Record(id, body: [1]))
      try set.send(OutboxMessage(type: "x", content: [1]))
    }
    await store.close()
    await database.close()
    let look = await copy(file("a.sqlite"), url, "--dry-run", "--json")
    #expect(look.code == .success && look.output.contains(#""store_record":{"inTarget":0,"rows":1}"#), "\(look)")
    let done = await copy(file("a.sqlite"), url)
    #expect(done.code == .success && done.output.contains("start the service on \(url)"), "\(done.error)")
    #expect(done.error.contains("store_record: 1 of 1 rows, 100 %\n") && done.error.contains("comparing"))
    let again = await copy(file("a.sqlite"), url)
    #expect(again.code == .badInput && again.error.contains("holds data already"))
    #expect(await copy(url, file("b.sqlite"), "--dry-run").code == .success)
    #expect(!FileManager.default.fileExists(atPath: file("b.sqlite")))
    #expect(await copy(url, file("b.sqlite")).code == .success)
    let owner = try #require(try FileOwner.claim(file("b.sqlite")))
    #expect(await copy(file("b.sqlite"), url).code == .unavailable)
    withExtendedLifetime(owner) {}
    for sides in [[file("a.sqlite"), file("c.sqlite")], [url, url]] {
      #expect(await copy(sides[0], sides[1]).code == .usage)
    }
  }

  @Test func `The planner keeps no samples of what may hold numbers, addresses or codes`() async throws {
    let endpoint = try await administrator()
    _ = try await creation(endpoint, roles()).run()
    let connection = try PostgreSQLConnection(endpoint, options: .patient)
    let sampled = try await connection.withTransaction { session throws(StoreError) in
      try session.script(
        """
        INSERT INTO store_outbox SELECT n, 1, n, n, '\\x01', 0, 'type', int8send(n) FROM generate_series(1, 50) n;
        INSERT INTO store_inbox SELECT int8send(n), 1, '\\x01', 'type', int8send(n), n FROM generate_series(1, 50) n;
        INSERT INTO store_record
          SELECT 'kind', n::text, 1, n, n, 1, int8send(n), int8send(n) FROM generate_series(1, 50) n;
        INSERT INTO ledger_job
          SELECT int8send(n), 1, 1, 'lane', n, 0, n, n, int8send(n), int8send(n), int8send(n)
          FROM generate_series(1, 50) n;
        INSERT INTO worker_record SELECT 'kind', int8send(n), 0, n, int8send(n) FROM generate_series(1, 50) n;
        ANALYZE store_outbox, store_inbox, store_record, ledger_job, worker_record;
        """)
      var sampled: Set<String> = []
      for row in try session.run("SELECT tablename || '.' || attname FROM pg_stats WHERE schemaname = 'countersign'") {
        sampled.insert(try row.text(0))
      }
      return sampled
    }
    await connection.close()
    #expect(sampled.isSuperset(of: ["store_outbox.owner", "store_inbox.key", "store_record.due", "ledger_job.key"]))
    let kept: Set = [
      "store_outbox.content", "store_inbox.reply", "store_record.keys", "store_record.body", "ledger_job.result",
      "ledger_job.correlation_id", "worker_record.key", "worker_record.body",
    ]
    #expect(sampled.isDisjoint(with: kept))
  }

  @Test func `Processes with one database and one user are named together, in one check of the tables of all`() {
    func endpoint(_ user: String) -> PostgreSQLEndpoint {
      PostgreSQLEndpoint(hosts: [ServerAddress(host: "localhost")], database: "d", user: user)
    }
    var uses: [DatabaseUse] = []
    DatabaseUse.add("coordinator", endpoint("c"), StoreParts.coordinator, to: &uses)
    DatabaseUse.add("mail-worker", endpoint("w"), StoreParts.worker, to: &uses)
    DatabaseUse.add("sms-worker", endpoint("w"), StoreParts.worker, to: &uses)
    #expect(uses.map(\.name) == ["database of coordinator", "database of mail-worker, sms-worker"])
    #expect(uses.map(\.parts) == [StoreParts.coordinator, StoreParts.worker])
  }

  @Test func `Services have their data in the section database, workers with a ledger in ledger`() {
    for service in ["coordinator", "accounts", "webhook-worker"] {
      #expect(StoreUse(process: service)?.section == "database")
    }
    #expect(StoreUse(process: "sms-worker")?.section == "ledger")
    #expect(StoreUse(process: "gateway") == nil)
  }

  @Test func `A login that fails by an expired certificate follows from it`() {
    let endpoint = PostgreSQLEndpoint(hosts: [ServerAddress(host: "db1")], database: "d", user: "u")
    let now = UnixTime(milliseconds: 1_800_000_000_000)
    func found(_ code: StoreError.Code, endsIn days: Int) -> [Finding] {
      let state = CertificateCheck.State(server: "database", host: "db1:5432", end: now + .seconds(days * 86_400))
      let check = DatabaseCheck(
        name: "database of coordinator", endpoint: endpoint, parts: [], clock: ManualClock(now), timeout: .patience)
      let failure = check.failure(StoreError(code, "no"))
      return Finding.ordered([CertificateCheck.finding(state, now: now), failure].compactMap { $0 })
    }
    let expired = found(.tlsRefused, endsIn: -1)
    #expect(expired.map(\.check) == ["certificate of the database at db1:5432", "database of coordinator"])
    #expect(expired.map(\.status) == [.failed, .follows])
    #expect(found(.tlsRefused, endsIn: 20).map(\.status) == [.failed, .ok])
    #expect(found(.unreachable, endsIn: -1).map(\.status) == [.failed, .failed])
    #expect(found(.tlsRefused, endsIn: 5).map(\.status) == [.failed, .warning])
  }

  @Test(arguments: ["pooler", "old", "standby", "full", "fsync"])
  func `Findings about facts`(problem: String) {
    var facts = DatabaseFacts()
    (facts.version, facts.maxConnections, facts.connections, facts.synchronousCommit) = (150_000, 100, 20, "on")
    let endpoint = PostgreSQLEndpoint(hosts: [ServerAddress(host: "localhost")], database: "d", user: "u")
    #expect(facts.findings("d", endpoint, host: "h", isPooled: false).allSatisfy { $0.status == .ok })
    switch problem {
    case "old": facts.version = 120_000
    case "standby": facts.isStandby = true
    case "full": facts.connections = 95
    case "fsync": facts.fsync = false
    default: break
    }
    let found = facts.findings("d", endpoint, host: "h", isPooled: problem == "pooler").filter { $0.status != .ok }
    #expect(found.count == 1)
    #expect(found.first?.hint != nil)
  }
}
