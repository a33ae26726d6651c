import CountersignTelemetry
import PostgreSQL

/// Whatever is there stays.
struct StoreCreation: Sendable {
  /// Database to make the tables in, and a role that may do so: a superuser, one that makes roles, or the owner.
  let endpoint: PostgreSQLEndpoint
  let roles: StoreRoles
  /// By the role.
  let passwords: [String: Secret]
  let parts: [PostgreSQLSchemaPart]
  let timeout: Duration

  func run() async throws(StoreError) -> [String] {
    let lines: [String]
    do throws(StoreError) {
      lines = try await makeRoles(in: endpoint)
    } catch {
      guard error.sqlState == Self.noSuchDatabase else { throw error }
      lines = try await makeDatabase()
    }
    return lines + (try await makeTables())
  }

  // MARK: Steps

  static let noSuchDatabase = "3D000"
  private static let maintenanceDatabase = "postgres"

  static func createDatabase(_ name: String, owner: String) -> String {
    "CREATE DATABASE \(quoted(name)) OWNER \(owner) TEMPLATE template0 ENCODING 'UTF8'"
  }

  static func quoted(_ name: String) -> String {
    let parts = name.split(separator: "\"", omittingEmptySubsequences: false)
    return "\"\(parts.joined(separator: "\"\""))\""
  }

  private func makeDatabase() async throws(StoreError) -> [String] {
    var maintenance = endpoint
    maintenance.database = Self.maintenanceDatabase
    var lines = try await makeRoles(in: maintenance)
    let (database, owner) = (endpoint.database, roles.owner)
    do throws(StoreError) {
      try await connected(to: maintenance, timeout: .seconds(300)) { session throws(StoreError) in
        _ = try session.run([Self.statement(Self.createDatabase(database, owner: owner))])
      }
    } catch {
      guard error.code == .permission else { throw error }
      throw StoreError(
        .permission,
        "the database \(database) does not exist, and this user may not make it: correct the name in the URL, or have an administrator run \(Self.createDatabase(database, owner: owner))"
      )
    }
    lines.append("database \(database): made, owned by \(owner)")
    return lines
  }

  private func makeRoles(in endpoint: PostgreSQLEndpoint) async throws(StoreError) -> [String] {
    let (roles, passwords) = (roles, passwords)
    return try await connected(to: endpoint, timeout: timeout) { session throws(StoreError) in
      let caller = try Caller(session)
      try caller.check()
      var lines: [String] = []
      for (name, hasLogin) in [(roles.owner, false)] + roles.users.map({ ($0, true) }) {
        let isThere = try session.run("SELECT 1 FROM pg_roles WHERE rolname = $1", [.text(name)]).count > 0
        if !isThere {
          guard caller.makesRoles else { throw Self.missing(name, hasLogin: hasLogin) }
          try session.run([Self.statement(StoreRoles.create(name, hasLogin: hasLogin))])
        }
        let lacksPassword = hasLogin && passwords[name] == nil
        lines.append(
          "role \(name): "
            + (isThere ? "was there" : lacksPassword ? "made, without a password: a password file sets one" : "made"))
        if let password = passwords[name] {
          let secret = try session.encrypted(password: password.reveal(), of: name)
          try session.run([Self.statement("ALTER ROLE \(name) PASSWORD '\(secret)'")])
          lines.append("role \(name): password set")
        }
      }
      return lines
    }
  }

  private static func missing(_ role: String, hasLogin: Bool) -> StoreError {
    StoreError(
      .permission,
      "the role \(role) is missing, and this user may not make roles: have an administrator run \(StoreRoles.create(role, hasLogin: hasLogin))"
    )
  }

  private func makeTables() async throws(StoreError) -> [String] {
    let (roles, parts, database) = (roles, parts, endpoint.database)
    return try await connected(to: endpoint, timeout: .seconds(300), isTransaction: true) {
      session throws(StoreError) in
      let caller = try Caller(session)
      let schema = PostgreSQLSchema.name
      let isThere = try session.run("SELECT to_regnamespace($1) IS NOT NULL", [.text(schema)])[0].bool(0)
      if !isThere {
        try caller.join(roles.owner, session)
        try session.run([Self.statement("CREATE SCHEMA \(schema) AUTHORIZATION \(roles.owner)")])
      }
      let owner = try session.run(
        "SELECT pg_get_userbyid(nspowner)::text FROM pg_namespace WHERE nspname = $1", [.text(schema)])[0].text(0)
      try caller.join(owner, session)
      try session.run([Self.statement("SET LOCAL ROLE \(Self.quoted(owner))")])
      let steps = try PostgreSQLSchema.update(parts, session)
      for grant in roles.grants { try session.run([Self.statement(grant)]) }
      return ["schema \(schema) in \(database): \(isThere ? "was there" : "made"), owned by \(owner)"]
        + lines(of: steps, parts)
        + [
          "rights: \(roles.service) on the tables \(StoreRoles.serviceParts.joined(separator: "…, "))…"
            + (roles.worker.map { "; \($0) on \(StoreRoles.workerParts.joined(separator: "…, "))…" } ?? "")
        ]
    }
  }

  // MARK: Connection

  private static func statement(_ sql: String) -> PostgreSQLStatement { PostgreSQLStatement(sql, isPrepared: false) }

  private func connected<Value: Sendable>(
    to endpoint: PostgreSQLEndpoint, timeout: Duration, isTransaction: Bool = false,
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    var options = PostgreSQLOptions()
    options.connectTimeout = min(self.timeout, .seconds(60))
    options.statementTimeout = timeout
    options.runTimeout = timeout + .seconds(10)
    // Another one that makes tables holds its lock for as long as it takes.
    options.lockTimeout = .seconds(10)
    let connection = try PostgreSQLConnection(endpoint, options: options)
    let result: Result<Value, StoreError>
    do throws(StoreError) {
      result = .success(
        try await isTransaction ? connection.withTransaction(body) : connection.withSession(body))
    } catch {
      result = .failure(error)
    }
    await connection.close()
    return try result.get()
  }
}

private func lines(of steps: [PostgreSQLSchema.Step], _ parts: [PostgreSQLSchemaPart]) -> [String] {
  parts.map { part in
    let made = steps.filter { $0.part == part.name }.map { String($0.version) }
    return made.isEmpty
      ? "tables of \(part.name): version \(part.version) was there"
      : "tables of \(part.name): brought to version \(made.last ?? "")"
  }
}

private struct Caller {
  let name: String
  let isSuperuser: Bool
  let makesRoles: Bool
  let version: Int
  let isStandby: Bool

  init(_ session: PostgreSQLSession) throws(StoreError) {
    let row = try session.run(
      """
      SELECT current_user::text, rolsuper, rolsuper OR rolcreaterole, current_setting('server_version_num')::integer,
        pg_is_in_recovery()
      FROM pg_roles WHERE rolname = current_user
      """)[0]
    name = try row.text(0)
    isSuperuser = try row.bool(1)
    makesRoles = try row.bool(2)
    version = try row.int(3)
    isStandby = try row.bool(4)
  }

  func check() throws(StoreError) {
    guard version >= DatabaseCheck.oldestVersion else {
      throw StoreError(.misuse, "the server has version \(version / 10_000): 13 or newer is needed")
    }
    guard !isStandby else { throw StoreError(.readOnly, "the server is a standby: name the primary server") }
  }

  /// Makes the caller a member of a role, whose name it then takes.
  func join(_ role: String, _ session: PostgreSQLSession) throws(StoreError) {
    guard !isSuperuser, role != name else { return }
    let isMember = try session.run("SELECT pg_has_role($1, $2, 'MEMBER')", [.text(name), .text(role)])[0].bool(0)
    guard !isMember else { return }
    guard makesRoles else {
      throw StoreError(
        .permission,
        "\(name) is not a member of \(role), which owns the tables: name a superuser in the URL, or a user that has been granted it"
      )
    }
    try session.run([
      PostgreSQLStatement("GRANT \(StoreCreation.quoted(role)) TO CURRENT_USER", isPrepared: false)
    ])
  }
}
