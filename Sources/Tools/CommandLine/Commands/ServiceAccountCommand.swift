import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import ServiceRuntime

/// Commands about the service accounts of a project, by which programs act as its administrators.
enum ServiceAccountCommand {
  static let group = CommandEntry(
    "service-account", "Manages the accounts by which programs administer the users of a project.",
    discussion: """
      A program signs in with the key file, which firebase-admin and Google's other libraries read. Accounts keeps the public key.
      Roles: \(AdministratorRole.known.map(\.rawValue).joined(separator: ", ")). docs/administrators.md explains them.
      """,
    options: ProjectOption.self,
    [
      add, list, CommandEntry("key", "Adds and removes keys of a service account.", [addKey, removeKey]), roles,
      disable, enable, delete,
    ])

  static func output(_ reply: ServiceAccountsListed) -> CommandOutput {
    var table = TextTable("SERVICE ACCOUNT", "ROLES", "KEYS", "STATE", "CREATED")
    table.rows = reply.accounts.sorted { $0.email < $1.email }.map { account in
      [
        account.email, account.roles.map(\.rawValue).joined(separator: ", "), account.keyIDs.joined(separator: ", "),
        account.disabled ? "disabled" : "enabled", account.createdAt.rfc3339,
      ]
    }
    return CommandOutput(text: reply.accounts.isEmpty ? "no service accounts" : table.text, reply: reply)
  }

  /// Carries out an act that needs no more than a name.
  static func carryOut(
    _ act: SetServiceAccount.Act, _ target: Target, _ context: CommandContext,
    _ body: (inout SetServiceAccount) -> Void = { _ in }
  ) async throws -> CommandOutput {
    var command = SetServiceAccount(project: try target.project.id(), act: act, name: try target.checkedName())
    body(&command)
    return output(try await context.sendAsOperator(command))
  }
}

extension ServiceAccountCommand {
  struct Target: CommandOptions {
    let project: ProjectOption
    let name: String

    init(_ reader: OptionReader) {
      project = reader.inherited()
      name = reader.operand("NAME", "Name of the service account: 6 to 30 lower case letters, digits and hyphens.")
    }

    func checkedName() throws(CommandLineError) -> String {
      guard ProjectForms.isProjectID(name) else {
        throw CommandLineError(.badInput, "NAME must be \(ProjectForms.projectIDForm)")
      }
      return name
    }
  }

  struct RolesOption {
    let roles: [AdministratorRole]

    init(_ reader: OptionReader) {
      let words = reader.texts(
        "roles", "ROLES", "Rights, such as users.read,users.write. None unless given.")
      roles = words.flatMap { $0.split(separator: ",").map { AdministratorRole(rawValue: String($0)) } }
      if let unknown = roles.first(where: { !AdministratorRole.known.contains($0) }) {
        let known = AdministratorRole.known.map(\.rawValue).joined(separator: ", ")
        reader.fail("--roles: there is no role \(unknown); there are: \(known)")
      }
    }
  }

  static let list = CommandEntry(
    "list", "Lists the service accounts of a project.", options: GroupOptions<ProjectOption>.self
  ) { options, context in
    output(try await context.sendAsOperator(ListServiceAccounts(project: try options.shared.id())))
  }

  struct RolesOptions: CommandOptions {
    let target: Target
    let roles: RolesOption

    init(_ reader: OptionReader) {
      roles = RolesOption(reader)
      target = Target(reader)
    }
  }

  static let roles = CommandEntry(
    "roles", "Sets what a service account may do, from now on and with access tokens of before.",
    options: RolesOptions.self
  ) { options, context in
    try await carryOut(.setRoles, options.target, context) { $0.roles = options.roles.roles }
  }

  static let disable = CommandEntry(
    "disable", "Disables a service account, and ends its access tokens.", options: Target.self
  ) { target, context in
    try await carryOut(.disable, target, context)
  }

  static let enable = CommandEntry("enable", "Enables a service account again.", options: Target.self) {
    target, context in
    try await carryOut(.enable, target, context)
  }

  static let delete = CommandEntry(
    "delete", "Deletes a service account with its keys, and ends its access tokens.", options: Target.self
  ) { target, context in
    try await carryOut(.delete, target, context)
  }
}

struct ProjectOption: CommandOptions {
  private let given: String?

  init(_ reader: OptionReader) {
    self.init(reader, "ID of the project; required.")
  }

  init(_ reader: OptionReader, _ help: String) {
    given = reader.text("project", "ID", help)
  }

  var isGiven: Bool { given != nil }

  func id() throws(CommandLineError) -> String {
    guard let given else { throw CommandLineError(.usage, "--project is missing") }
    guard ProjectForms.isProjectID(given) else {
      throw CommandLineError(.badInput, "--project must be \(ProjectForms.projectIDForm)")
    }
    return given
  }
}
