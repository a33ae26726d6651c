import CountersignEncoding
import CountersignMessages
import ServiceRuntime

/// Users of the broker for services of one's own.
enum ServiceCommand {
  static let group = CommandEntry(
    "service", "Manages the broker's users for your services, and the queues that keep their events.",
    discussion: """
      RabbitMQ lets administrators alone make users: give one with --management https://ADMINISTRATOR@HOST:15671. With
      another user, add prints the commands of rabbitmqctl instead, and exits with 77.
      """,
    [Add.entry, list, Remove.entry])

  /// Throws unless a name may be that of a service's own user.
  static func requireOwn(_ name: String) throws(CommandLineError) {
    guard !UserDeclaration.countersign.contains(where: { $0.name == name }) else {
      throw CommandLineError(.usage, "\(name) is a user of the topology itself: choose another name")
    }
    try ServiceKind.requireName(name)
  }

  /// Virtual hosts but this one in which a user has rights. Empty if there is no such user.
  static func otherHosts(
    of name: String, _ state: UserDifferences, _ api: ManagementAPI
  ) async throws(CommandLineError) -> [String] {
    guard state.users.contains(where: { $0.name == name }) else { return [] }
    let rows = try await api.rows("/api/users/\(PercentEncoding.encode(name))/permissions")
    return rows.compactMap { $0["vhost"]?.text }.filter { $0 != api.virtualHost }.sorted()
  }
}

// MARK: - List

extension ServiceCommand {
  static let list = CommandEntry("list", "Lists the users that have the rights of a service.", options: NoOptions.self)
  { _, context in
    try await context.backend().withManagement { (api) throws(CommandLineError) in
      let queues: [QueueState] = try await api.list("queues")
      return output(try await TopologyTool(api: api).users(), queues)
    }
  }

  private static func output(_ state: UserDifferences, _ queues: [QueueState]) -> CommandOutput {
    var table = TextTable("NAME", "RIGHTS OF", "EVENTS KEPT", "PASSWORD")
    var rows: [JSONValue] = []
    for user in state.users.sorted(by: { $0.name < $1.name }) {
      guard let kind = state.serviceKind(of: user.name) else { continue }
      let kept = queues.first { $0.name == Topology.Queues.events(of: user.name) }.map { $0.messages ?? 0 }
      table.rows.append(
        [user.name, kind.rawValue, kept.map { "\($0)" } ?? "no queue", user.hasPassword ? "set" : "none"])
      rows.append(
        .object([
          "name": .text(user.name), "rights": .text(kind.rawValue),
          "eventsKept": kept.map { .integer(Int64($0)) } ?? .null, "hasPassword": .bool(user.hasPassword),
        ]))
    }
    return CommandOutput(
      text: rows.isEmpty ? "no user has the rights of a service" : table.text,
      json: .object(["services": .array(rows)]))
  }
}

// MARK: - Remove

extension ServiceCommand {
  enum Remove {
    struct Options: CommandOptions {
      let yes: Bool
      let name: String

      init(_ reader: OptionReader) {
        yes = reader.flag("yes", "Do it. Without this, only tell what would be lost.")
        name = reader.operand("NAME", "Name of the service.")
      }
    }

    private struct Found {
      var name: String
      /// Whether the user has rights in this virtual host, or in none.
      var isUser: Bool
      /// Other virtual hosts, for which the user stays.
      var others: [String]
      var hasTopics: Bool
      /// Events that wait. `nil` without a queue.
      var kept: Int?

      var userWrites: [ManagementWrite] {
        guard isUser else { return [] }
        return others.isEmpty
          ? [ServiceWrites.removal(name)] : ServiceWrites.removal(ofRights: name, withTopics: hasTopics)
      }

      var queueWrites: [ManagementWrite] {
        kept == nil ? [] : [ServiceWrites.removal(ofQueue: Topology.Queues.events(of: name))]
      }
    }

    static let entry = CommandEntry(
      "remove", "Removes the user of a service, and the queue of its events with all that wait there.",
      options: Options.self
    ) { options, context in
      try requireOwn(options.name)
      return try await context.backend().withManagement { (api) throws(CommandLineError) in
        let found = try await find(options.name, api)
        if options.yes { try await remove(found, api, context) }
        return output(options, found)
      }
    }

    private static func find(_ name: String, _ api: ManagementAPI) async throws(CommandLineError) -> Found {
      let state = try await TopologyTool(api: api).users()
      let queues: [QueueState] = try await api.list("queues")
      let queue = queues.first { $0.name == Topology.Queues.events(of: name) }
      let others = try await otherHosts(of: name, state, api)
      let isUser = state.users.contains { $0.name == name } && (others.isEmpty || state.hasRights(name))
      guard isUser || queue != nil else {
        throw CommandLineError(.refused, "there is no service \(name); countersign service list shows them")
      }
      guard !isUser || state.serviceKind(of: name) != nil else {
        let way = others.isEmpty ? "rabbitmqctl delete_user \(name)" : RabbitMQCtl.clear(name, in: api.virtualHost)
        throw CommandLineError(.refused, "user \(name) has not the rights of a service: \(way)")
      }
      let hasTopics = state.rights.all(.topicPermissions).contains { $0["user"] == name }
      return Found(
        name: name, isUser: isUser, others: others, hasTopics: hasTopics, kept: queue.map { $0.messages ?? 0 })
    }

    /// The user goes first: it could otherwise bind or read on.
    private static func remove(
      _ found: Found, _ api: ManagementAPI, _ context: CommandContext
    ) async throws(CommandLineError) {
      try await context.announce("service.remove", on: found.name)
      for write in found.userWrites + found.queueWrites { try await api.write(write) }
    }

    private static func output(_ options: Options, _ found: Found) -> CommandOutput {
      var lines: [String] = []
      if found.isUser { lines.append(userLine(found)) }
      if let kept = found.kept {
        lines.append("queue \(Topology.Queues.events(of: options.name)) with about \(kept) events that wait")
      }
      let head = options.yes ? "removed for good:" : "would be removed for good; add --yes to do it:"
      return CommandOutput(
        text: ([head] + lines.map { "  \($0)" }).joined(separator: "\n"),
        json: .object([
          "name": .text(options.name), "removed": .bool(options.yes), "user": .bool(found.isUser),
          "userStaysFor": .array(found.others.map(JSONValue.text)),
          "eventsKept": found.kept.map { .integer(Int64($0)) } ?? .null,
        ]),
        exitCode: options.yes ? .success : .failure)
    }

    private static func userLine(_ found: Found) -> String {
      guard !found.others.isEmpty else {
        return "user \(found.name), whose connections end; queues of its own for replies go within 10 minutes"
      }
      return
        "rights of user \(found.name) in this virtual host; the user stays for \(found.others.joined(separator: ", ")), and connections that are open keep theirs until they end"
    }
  }
}
