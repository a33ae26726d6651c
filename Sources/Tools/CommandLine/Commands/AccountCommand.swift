import CountersignEncoding
import CountersignMessages
import ServiceRuntime

/// Commands about the users of a project, as the operator.
enum AccountCommand {
  static let group = CommandEntry(
    "account", "Finds, changes and deletes users of a project, and brings them in and out.",
    discussion: """
      Each act is noted: 'countersign audit' shows them. Commands are sealed to the public keys of accounts
      (COUNTERSIGN_ACCOUNTS_KEYS_FILE, accounts.keysFile).
      """,
    options: ProjectOption.self,
    [
      find, show, disable, enable, signOut, claims, delete, Import.entry, Export.entry,
    ])

  /// A user of a project.
  struct Target: CommandOptions {
    let project: ProjectOption
    let localID: String

    init(_ reader: OptionReader) {
      project = reader.inherited()
      localID = reader.operand("UID", "ID of the user; 'account find' tells it.")
    }

    func account(_ context: CommandContext) async throws -> AccountView {
      var selection = AccountSelection()
      selection.localIDs = [localID]
      let found = try await accounts(selection, in: project, context)
      guard let account = found.accounts.first else { throw CommandLineError(AccountCommand.notFound(localID)) }
      return account
    }

    func change(
      _ context: CommandContext, _ body: (inout UserFields) -> Void
    ) async throws -> CommandOutput {
      var fields = UserFields(localID: localID)
      body(&fields)
      let (user, id) = (fields, try project.id())
      let reply = try await context.backend().withAccounts { accounts throws(CommandLineError) in
        try await accounts.ask(timeout: context.timeout) { message throws(CommandLineError) in
          ChangeAccount(project: id, user: try accounts.seal(user, for: ChangeAccount.self, id: message))
        }
      }
      return output(reply.account)
    }
  }

  static func accounts(
    _ selection: AccountSelection, in project: ProjectOption, _ context: CommandContext
  ) async throws -> AccountsFound {
    let id = try project.id()
    return try await context.backend().withAccounts { accounts throws(CommandLineError) in
      try await accounts.ask(timeout: context.timeout) { message throws(CommandLineError) in
        FindAccounts(project: id, selection: try accounts.seal(selection, for: FindAccounts.self, id: message))
      }
    }
  }

  static func notFound(_ localID: String) -> APIError {
    APIError(.userNotFound, "the project has no account \(localID): 'countersign account find' looks for one")
  }

  static func output(_ account: AccountView) -> CommandOutput {
    CommandOutput(text: AccountText.details(account), reply: account)
  }
}

extension AccountCommand {
  struct FindOptions: CommandOptions {
    let project: ProjectOption
    let emails, phoneNumbers, ids, identities: [String]

    init(_ reader: OptionReader) {
      project = reader.inherited()
      emails = reader.texts("email", "ADDRESS", "Mail address; may be repeated, as all of these.")
      phoneNumbers = reader.texts("phone", "NUMBER", "Phone number in E.164: +14155550123.")
      ids = reader.texts("id", "UID", "ID of the user.")
      identities = reader.texts("identity", "PROVIDER:ID", "Identity at a provider: apple.com:001234.abc.")
    }

    func selection() throws(CommandLineError) -> AccountSelection {
      var selection = AccountSelection()
      let count = emails.count + phoneNumbers.count + ids.count + identities.count
      guard (1...AccountSelection.maxAccounts).contains(count) else {
        throw CommandLineError(
          .usage, "give one of --email, --phone, --id and --identity; at most \(AccountSelection.maxAccounts) in all")
      }
      selection.emails = emails.isEmpty ? nil : emails
      selection.phoneNumbers = phoneNumbers.isEmpty ? nil : phoneNumbers
      selection.localIDs = ids.isEmpty ? nil : ids
      for text in identities {
        guard let colon = text.firstIndex(of: ":") else {
          throw CommandLineError(.usage, "--identity must be PROVIDER:ID: apple.com:001234.abc")
        }
        selection.identities =
          (selection.identities ?? []) + [
            UserIdentity(providerID: String(text[..<colon]), subject: String(text[text.index(after: colon)...]))
          ]
      }
      return selection
    }
  }

  static let find = CommandEntry(
    "find", "Finds users by address, phone number, ID or identity.", discussion: "Exit code 1 if nobody is found.",
    options: FindOptions.self
  ) { options, context in
    let found = try await accounts(try options.selection(), in: options.project, context)
    if found.next != nil { context.report("note: not all fit into one answer: ask for fewer at a time\n") }
    return CommandOutput(
      text: found.accounts.isEmpty ? "nobody was found" : AccountText.table(found.accounts),
      reply: found, exitCode: found.accounts.isEmpty ? .failure : .success)
  }

  static let show = CommandEntry("show", "Shows a user.", options: Target.self) { target, context in
    output(try await target.account(context))
  }
}
