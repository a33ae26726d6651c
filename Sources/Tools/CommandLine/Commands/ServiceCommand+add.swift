import ServiceRuntime

extension ServiceCommand {
  enum Add {
    struct Options: CommandOptions {
      let events, sender, newPassword: Bool
      let passwordFile: String?
      let name: String

      init(_ reader: OptionReader) {
        events = reader.flag("events", "Declare the queue countersign.events.NAME, which keeps events for three days.")
        sender = reader.flag("sender", "Let it send jobs too, which pass none of the coordinator's limits.")
        newPassword = reader.flag("new-password", "Give a user that exists another password.")
        passwordFile = reader.text(
          "password-file", "FILE", "Write the password to this new file, for its owner alone, instead of printing it.")
        name = reader.operand("NAME", "Name of the service: letters, digits, hyphens and underscores.")
      }

      var user: ServiceUser { ServiceUser(name: name, kind: sender ? .sender : .service, keepsEvents: events) }

      /// For the record of acts.
      var subject: String {
        let flags = [(events, "--events"), (sender, "--sender"), (newPassword, "--new-password")]
        return ([name] + flags.filter(\.0).map(\.1)).joined(separator: " ")
      }
    }

    static let entry = CommandEntry(
      "add", "Makes the broker's user of a service, with its rights and limits, and prints its password once.",
      discussion: """
        Repeating it completes what is missing, and leaves the password as it is. With --events, events wait in a queue while
        the service is away; without, a queue of its own is deleted after 10 minutes without a consumer, with its events.
        """, options: Options.self
    ) { options, context in
      try requireOwn(options.name)
      let backend = try context.backend()
      let url = try backend.brokerURL(of: options.name)
      return try await backend.withManagement { (api) throws(CommandLineError) in
        try await add(options, api, ServiceText(user: options.user, url: url), context)
      }
    }

    private static func add(
      _ options: Options, _ api: ManagementAPI, _ text: ServiceText, _ context: CommandContext
    ) async throws(CommandLineError) -> CommandOutput {
      // Objects that every user of the management API may see come first: a wrong password ends it here.
      let events = try options.user.eventChanges(of: try await TopologyTool(api: api).eventObjects())
      guard let state = try await visibleUsers(api) else {
        try await write(events, options, api, context)
        return text.forAdministrator(events, in: api.virtualHost)
      }
      var known = text
      known.otherHosts = try await otherHosts(of: options.user, state, api)
      let changes = try options.user.changes(of: state) + events
      let hasPassword = state.users.first { $0.name == options.name }?.hasPassword ?? false
      guard !hasPassword || options.newPassword else {
        try await write(changes, options, api, context)
        return known.done(changes, .kept)
      }
      try await context.announce("service.add", on: options.subject)
      let password = try await setPassword(after: changes, options, api)
      return known.done(changes, password)
    }

    /// `nil` if this user of the management API may not see users, and so may not make them.
    private static func visibleUsers(_ api: ManagementAPI) async throws(CommandLineError) -> UserDifferences? {
      do {
        return try await TopologyTool(api: api).users()
      } catch {
        guard error.code == .notPermitted else { throw error }
        return nil
      }
    }

    /// Throws for a user that has rights in other virtual hosts alone: its password and limits are theirs.
    private static func otherHosts(
      of user: ServiceUser, _ state: UserDifferences, _ api: ManagementAPI
    ) async throws(CommandLineError) -> [String] {
      let others = try await ServiceCommand.otherHosts(of: user.name, state, api)
      guard others.isEmpty || state.hasRights(user.name) else {
        throw CommandLineError(
          .refused,
          "user \(user.name) has rights in \(others.joined(separator: ", ")) and none in \(api.virtualHost), and its password holds in all virtual hosts: choose another name, or give it the rights by hand; countersign topology user \(user.name) --like \(user.kind.rawValue) prints how"
        )
      }
      return others
    }

    private static func write(
      _ changes: [TopologyDifference], _ options: Options, _ api: ManagementAPI, _ context: CommandContext
    ) async throws(CommandLineError) {
      guard !changes.isEmpty else { return }
      try await context.announce("service.add", on: options.subject)
      for write in changes.flatMap(\.writes) { try await api.write(write) }
    }

    /// The password comes last: until then the user cannot log in, and a repetition finds that it has none.
    private static func setPassword(
      after changes: [TopologyDifference], _ options: Options, _ api: ManagementAPI
    ) async throws(CommandLineError) -> ServiceText.Password {
      let password = ServiceWrites.newPassword()
      // A file that cannot be written shall leave no user whose password is lost.
      if let file = options.passwordFile { try NewFile.write(Array("\(password)\n".utf8), to: file) }
      do {
        for write in changes.flatMap(\.writes) { try await api.write(write) }
        try await api.write(ServiceWrites.password(of: options.name, password))
      } catch {
        throw CommandLineError(error.code, "\(error.description); \(advice(options))")
      }
      return options.passwordFile.map { .file($0) } ?? .printed(password)
    }

    /// The broker may have taken a password without its answer having come: a repetition alone would leave it.
    private static func advice(_ options: Options) -> String {
      guard let file = options.passwordFile else {
        return "a password that nobody knows may be in force: repeat with --new-password"
      }
      return "the password in \(file) may not be in force: remove the file, and repeat with --new-password"
    }
  }
}
