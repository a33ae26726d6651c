import CommandEngine
import CountersignTelemetry
import PostgreSQL

/// Checks a PostgreSQL database as the process that uses it would: with its address, its user and its password.
struct DatabaseCheck: Sendable {
  /// The oldest version of the server, as it numbers itself.
  static let oldestVersion = 130_000
  static let spareConnections = 10

  /// `database of the coordinator`.
  let name: String
  let endpoint: PostgreSQLEndpoint
  let parts: [PostgreSQLSchemaPart]
  let clock: any WallClock
  let timeout: Duration
  var process: String?

  func findings() async -> [Finding] {
    async let certificates = certificates()
    let found = await look()
    return await certificates + found
  }

  private func certificates() async -> [Finding] {
    guard endpoint.tls != nil else { return [] }
    var findings: [Finding] = []
    for host in endpoint.hosts where !host.isSocket {
      let end = await PostgreSQLCertificate.end(of: host, endpoint, timeout: options.connectTimeout)
      let state = CertificateCheck.State(
        server: "database", host: "\(host)", end: end.map(UnixTime.init(seconds:)))
      if let finding = CertificateCheck.finding(state, now: clock.now()) { findings.append(finding) }
    }
    return findings
  }

  private func look() async -> [Finding] {
    do throws(StoreError) {
      let connection = try PostgreSQLConnection(endpoint, options: options)
      let result: Result<[Finding], StoreError>
      do throws(StoreError) { result = .success(try await look(connection)) } catch { result = .failure(error) }
      await connection.close()
      return try result.get()
    } catch {
      return [failure(error)]
    }
  }

  private func look(_ connection: PostgreSQLConnection) async throws(StoreError) -> [Finding] {
    let (name, parts, clock) = (name, parts, clock)
    let facts = try await connection.withSession { session throws(StoreError) in
      try DatabaseFacts(session, parts, clock: clock)
    }
    let host = connection.status.host.map(\.description) ?? ""
    return facts.findings(name, endpoint, host: host, isPooled: await isPooled())
  }

  /// Whether a pooler shares the server's sessions. What else fails meanwhile is found by the others.
  private func isPooled() async -> Bool {
    do throws(StoreError) {
      try await PostgreSQLStore.verifySession(endpoint, options: options)
      return false
    } catch {
      return error.code == .schema
    }
  }

  private var options: PostgreSQLOptions {
    var options = PostgreSQLOptions()
    options.connectTimeout = min(timeout, options.connectTimeout)
    options.statementTimeout = timeout
    return options
  }

  /// Follows from the certificates of all hosts, if they have expired.
  func failure(_ error: StoreError) -> Finding {
    Finding(
      name, .failed, error.description, hint: Self.hint(error), about: process.map(Finding.Part.database),
      needs: error.code == .tlsRefused ? endpoint.hosts.map { [.certificate("\($0)")] } : [])
  }

  private static func hint(_ error: StoreError) -> String {
    switch error.code {
    case .loginRefused where error.sqlState == StoreCreation.noSuchDatabase:
      "correct the database's name in the URL, or make it: countersign store create"
    case .loginRefused: "check user, password file and pg_hba.conf; 'countersign store create' makes the users"
    case .tlsRefused: "check caFile and the server's certificate, which has to name the host of the URL"
    case .permission, .schema: "run 'countersign store create' as the owner of the tables"
    case .outOfResources: "raise max_connections, or lower readers of the processes"
    case .readOnly: "name every server of the cluster in the URL: the one that takes writes is used"
    default: "start the server, or correct its address; a firewall may block the connection"
    }
  }
}

/// As one user sees it.
struct DatabaseFacts: Sendable, Hashable {
  var version = 0
  var isStandby = false
  var isReadOnly = false
  var synchronousCommit = ""
  var fsync = true
  var isEncrypted = false
  /// Milliseconds by which the server's clock is ahead of the middle of the question.
  var clockAhead: Int64 = 0
  var maxConnections = 0
  var connections = 0
  /// By part.
  var schema: [String] = []
  /// Tables that the user may not write to.
  var forbidden: [String] = []

  init() {}

  static let settings = """
    SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(),
      current_setting('default_transaction_read_only')::boolean, current_setting('synchronous_commit'),
      current_setting('fsync')::boolean, coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
      current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
    """
  static let time = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
  static let tables = """
    SELECT c.relname::text, has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
      AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_version' ORDER BY c.relname
    """

  init(
    _ session: PostgreSQLSession, _ parts: [PostgreSQLSchemaPart], clock: any WallClock
  ) throws(StoreError) {
    let row = try session.run(Self.settings)[0]
    version = try row.int(0)
    isStandby = try row.bool(1)
    isReadOnly = try row.bool(2)
    synchronousCommit = try row.text(3)
    fsync = try row.bool(4)
    isEncrypted = try row.bool(5)
    maxConnections = try row.int(6)
    connections = try row.int(7)
    let asked = clock.now().milliseconds
    let there = Int64(try session.run(Self.time)[0].int(0))
    clockAhead = there - (asked + (clock.now().milliseconds - asked) / 2)
    let versions = try PostgreSQLSchema.versions(session)
    schema = parts.compactMap { PostgreSQLSchema.problem($0, versions[$0.name]) }
    let prefixes = parts.compactMap { StoreParts.prefixes[$0.name] }
    for table in try session.run(Self.tables, [.text(PostgreSQLSchema.name)]) {
      let name = try table.text(0)
      if prefixes.contains(where: name.hasPrefix), try !table.bool(1) { forbidden.append(name) }
    }
  }

  // MARK: Findings

  func findings(_ name: String, _ endpoint: PostgreSQLEndpoint, host: String, isPooled: Bool) -> [Finding] {
    let free = maxConnections - connections
    let seconds = abs(clockAhead) / 1000
    func found(
      _ isSo: Bool, _ part: String, _ status: Finding.Status, _ detail: String, hint: String
    ) -> Finding? {
      isSo ? Finding("\(name): \(part)", status, detail, hint: hint) : nil
    }
    let all: [Finding?] = [
      version >= DatabaseCheck.oldestVersion
        ? Finding(name, .ok, "PostgreSQL \(version / 10_000) answers at \(host), as \(endpoint.user)")
        : Finding(name, .failed, "PostgreSQL \(version / 10_000) is too old", hint: "use version 13 or newer"),
      found(
        isStandby, "writes", .failed, "the server is a standby",
        hint: "name every server of the cluster in the URL: the one that takes writes is used"),
      found(
        isReadOnly && !isStandby, "writes", .failed, "default_transaction_read_only is on for this user",
        hint: "ALTER ROLE … RESET default_transaction_read_only"),
      tables("\(name): tables"),
      found(
        isPooled, "pooler", .failed, "a pooler gives each transaction another session",
        hint: "connect to the server itself, or set pool_mode = session: locks of a session tell which process lives"),
      found(
        !isEncrypted && endpoint.hosts.contains { !$0.isLocal }, "TLS", .warning,
        "the password and phone numbers cross the network unencrypted",
        hint: "remove allowPlaintext, and name the server's authority in caFile"),
      found(
        !fsync, "durability", .failed, "fsync is off: a crash of the server's machine may destroy the database",
        hint: "set fsync = on in postgresql.conf, and reload the server"),
      found(
        synchronousCommit == "off", "durability", .warning,
        "synchronous_commit is off: a crash of the server loses commits, and a code may be sent or accepted twice",
        hint: "set synchronous_commit = on for this user or database"),
      found(
        free < DatabaseCheck.spareConnections, "connections", .warning, "\(free) of \(maxConnections) are free",
        hint: "raise max_connections, or lower readers of the processes"),
      found(
        seconds > 1, "clock", seconds > 10 ? .failed : .warning,
        "the server's is \(seconds) s \(clockAhead > 0 ? "ahead of" : "behind") this machine's",
        hint: "synchronize the clocks of all machines: timedatectl set-ntp true"),
    ]
    return all.compactMap { $0 }
  }

  private func tables(_ check: String) -> Finding {
    if let first = schema.first { return Finding(check, .failed, first) }
    guard !forbidden.isEmpty else { return Finding(check, .ok, "their versions are those of this program") }
    return Finding(
      check, .failed, "the user may not write to \(forbidden.prefix(3).joined(separator: ", "))",
      hint:
        "run 'countersign store create' as the owner of the tables; --coordinator and --worker name other users; check a worker's user with --as-worker"
    )
  }
}
