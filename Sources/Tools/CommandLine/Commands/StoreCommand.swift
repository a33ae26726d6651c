import CountersignEncoding
import CountersignTelemetry
import PostgreSQL
import ServiceRuntime

enum StoreCommand {
  static let group = CommandEntry(
    "store", "Makes the tables in PostgreSQL, copies a service's data into them or back, and checks them.",
    discussion: "docs/postgresql.md goes through a set-up step by step.",
    [create, copy, check])
}

extension StoreCommand {
  struct CreateOptions: CommandOptions {
    let address: StoreAddress
    let roles: StoreRoles
    let passwordFiles: [String: String]
    let parts: [PostgreSQLSchemaPart]
    let isPrinted: Bool

    init(_ reader: OptionReader) {
      address = StoreAddress(reader)
      let isForAccounts = reader.flag("for-accounts", "Makes the tables of accounts, in a database of their own.")
      var roles = isForAccounts ? StoreRoles.accounts : StoreRoles()
      let role = { (name: String, fallback: String, help: String) -> String in
        guard let role = reader.text(name, "ROLE", "\(help): \(fallback) unless given.") else { return fallback }
        if !StoreRoles.isName(role) { reader.fail("--\(name) must be a name of small letters, digits and _") }
        return role
      }
      roles.owner = role("owner", roles.owner, "Role that owns the tables")
      let coordinator = role("coordinator", StoreRoles().service, "User of the coordinators")
      let worker = role("worker", "countersign_worker", "User of the workers")
      let accounts = role("accounts", StoreRoles.accounts.service, "User of accounts, with --for-accounts")
      (roles.service, roles.worker) = isForAccounts ? (accounts, nil) : (coordinator, worker)
      var files: [String: String] = [:]
      for (role, name, users) in [
        (coordinator, "coordinator", "coordinators'"), (worker, "worker", "workers'"),
        (accounts, "accounts", "accounts'"),
      ] {
        let file = reader.text("\(name)-password-file", "FILE", "Sets the password of the \(users) user.")
        if let file, roles.users.contains(role) { files[role] = file }
      }
      passwordFiles = files
      parts = isForAccounts ? StoreParts.coordinator : StoreParts.all
      self.roles = roles
      isPrinted = reader.flag("print", "Prints the statements for a new database, and runs none.")
    }
  }

  static let create = CommandEntry(
    "create", "Makes roles, database, schema and tables, or brings them to the version of this program.",
    discussion: """
      The user of the URL is a superuser, one that may make roles and databases, or the owner of the database where all roles are
      there. What is there stays; run it again with each new version, before its processes start. Exit code 77: a right is missing.
      """, options: CreateOptions.self
  ) { options, context in
    let endpoint = try options.address.endpoint()
    if options.isPrinted {
      let text = StoreScript.text(
        options.roles, database: endpoint?.database ?? "countersign", parts: options.parts)
      return CommandOutput(text: text, json: .object(["sql": .text(text)]))
    }
    guard let endpoint else {
      throw CommandLineError(.usage, "--url is missing: name the database and a user that may make tables in it")
    }
    var passwords: [String: Secret] = [:]
    for (role, file) in options.passwordFiles { passwords[role] = try StoreLogin.password(file) }
    let creation = StoreCreation(
      endpoint: endpoint, roles: options.roles, passwords: passwords, parts: options.parts, timeout: context.timeout)
    do throws(StoreError) {
      let lines = try await creation.run()
      return CommandOutput(
        text: lines.joined(separator: "\n"), json: .object(["done": .array(lines.map { .text($0) })]))
    } catch {
      throw CommandLineError(error)
    }
  }

  struct CheckOptions: CommandOptions {
    let address: StoreAddress
    let configDirectory: String?
    let isWorker: Bool

    init(_ reader: OptionReader) {
      address = StoreAddress(reader)
      configDirectory = reader.text("config-dir", "DIRECTORY", "Directory of the processes' configuration files.")
      isWorker = reader.flag("as-worker", "The user of the URL is the workers', and needs their tables only.")
    }
  }

  static let check = CommandEntry(
    "check",
    "Checks the databases that the configuration files name, or one by its URL. Exit code 1: it found something.",
    options: CheckOptions.self
  ) { options, context in
    guard let endpoint = try options.address.endpoint() else {
      let findings = try await context.backend().diagnoseDatabases(
        configDirectory: options.configDirectory, timeout: context.timeout)
      return DoctorCommand.output(findings)
    }
    let check = DatabaseCheck(
      name: "database", endpoint: endpoint, parts: options.isWorker ? StoreParts.worker : StoreParts.coordinator,
      clock: context.clock, timeout: context.timeout)
    return DoctorCommand.output(await check.findings())
  }
}
