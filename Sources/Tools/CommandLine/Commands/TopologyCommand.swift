import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum TopologyCommand {
  static let group = CommandEntry(
    "topology", "Declares exchanges, queues, bindings and policies on the broker, and compares its users.",
    discussion: """
      RabbitMQ shows users, rights and limits to administrators only: with another user they are not compared, and check ends with 77
      when nothing else differs. An administrator's apply also adds users that are missing, without a password, and sets rights.
      """,
    [Apply.entry, Check.entry, export, User.entry])

  struct Options: CommandOptions {
    let withoutUsers: Bool

    init(_ reader: OptionReader) {
      withoutUsers = reader.flag(
        "without-users", "Leave out users, rights and limits, which only administrators may see.")
    }
  }

  private static func line(_ difference: TopologyDifference) -> String {
    if case .byHand(let how) = difference.remedy {
      "\(difference.description); by hand: \(how)"
    } else {
      difference.description
    }
  }

  private static func notes(_ report: TopologyReport) -> [String] {
    (report.notes + [report.unchecked].compactMap { $0 }).map { "note: \($0)" }
  }
}

// MARK: - Apply

extension TopologyCommand {
  enum Apply {
    static let entry = CommandEntry(
      "apply", "Declares missing objects and fixes differing ones; repeating it changes nothing.",
      options: TopologyCommand.Options.self
    ) { options, context in
      try await context.backend().withManagement { (api) throws(CommandLineError) in
        let tool = TopologyTool(api: api, includesUsers: !options.withoutUsers)
        let (fixed, left) = try await tool.apply { fixes in await announce(fixes, in: context) }
        return output(fixed: fixed, left: left)
      }
    }

    /// Maximum size of a note's subject in bytes, `operator.note`.
    private static let maxSubjectBytes = 256

    /// A broker without the queue of the notes gets it now: its first apply is on no record.
    private static func announce(_ fixes: [TopologyDifference], in context: CommandContext) async {
      guard !TopologyTool.bringsNotes(fixes) else {
        return context.report("countersign: not noted for countersign audit, whose queue is declared now\n")
      }
      let deeds = fixes.compactMap(\.deed).joined(separator: "; ")
      await context.announceRepair("topology.apply", on: deeds.cut(toBytes: maxSubjectBytes))
    }

    /// Beyond this number, changes are counted instead of listed: a new broker lacks everything.
    private static let maxListed = 12

    static func output(fixed: [TopologyDifference], left: TopologyReport) -> CommandOutput {
      let deeds = fixed.compactMap(\.deed)
      var lines = (deeds.count > maxListed ? counted(fixed) : deeds) + left.differences.map(line)
      if left.differences.isEmpty {
        lines.append("the topology is complete\(deeds.isEmpty ? ": nothing to do" : "")")
      }
      // A user who applies a topology need not be an administrator: the users come with the definitions, once.
      lines += notes(left)
      return CommandOutput(
        text: lines.joined(separator: "\n"),
        json: .object([
          "fixed": .array(deeds.map(JSONValue.text)), "left": .array(left.differences.map { .text(line($0)) }),
          "notes": .array(notes(left).map(JSONValue.text)),
        ]),
        exitCode: left.differences.isEmpty ? .success : .failure)
    }

    private static func counted(_ fixed: [TopologyDifference]) -> [String] {
      let kinds = ["exchanges", "queues", "bindings", "policies"]
      let resources = fixed.map { $0.writes.first?.path.first ?? "" }
      let counts = kinds.map { kind in "\(resources.filter { $0 == kind }.count) \(kind)" }
      return ["declared \(counts.dropLast().joined(separator: ", ")) and \(counts[kinds.count - 1])"]
        + zip(fixed, resources).filter { !kinds.contains($0.1) }.compactMap { $0.0.deed }
    }
  }
}

// MARK: - Check and export

extension TopologyCommand {
  enum Check {
    static let entry = CommandEntry(
      "check", "Lists missing and differing objects. Exit code 1 when there are any.",
      options: TopologyCommand.Options.self
    ) { options, context in
      try await context.backend().withManagement { (api) throws(CommandLineError) in
        output(try await TopologyTool(api: api, includesUsers: !options.withoutUsers).check())
      }
    }

    /// Exit code 77 means that nothing visible differs, and that part of the broker is not visible to this user.
    static func output(_ report: TopologyReport) -> CommandOutput {
      let differences = report.differences.map(line)
      let hint = report.differences.contains(where: \.isFixable) ? ["hint: countersign topology apply"] : []
      let complete =
        report.unchecked == nil ? "the topology is complete" : "exchanges, queues, bindings and policies are complete"
      let exitCode: ExitCode = report.unchecked == nil ? .success : .noPermission
      return CommandOutput(
        text: ((differences.isEmpty ? [complete] : differences + hint) + notes(report)).joined(separator: "\n"),
        json: .object([
          "differences": .array(differences.map(JSONValue.text)), "notes": .array(notes(report).map(JSONValue.text)),
          "usersChecked": .bool(report.unchecked == nil),
        ]),
        exitCode: differences.isEmpty ? exitCode : .failure)
    }
  }

  /// `countersign topology export`, which makes `Config/rabbitmq/definitions.json`.
  static let export = CommandEntry(
    "export", "Prints topology and users as a document for rabbitmqctl import_definitions.", options: NoOptions.self
  ) { _, _ in
    CommandOutput(text: DefinitionsDocument.contents.json(indented: true), json: DefinitionsDocument.contents)
  }
}

// MARK: - User

extension TopologyCommand {
  enum User {
    struct Options: CommandOptions {
      let model: String?
      let events: Bool
      let virtualHost: String?
      let name: String

      init(_ reader: OptionReader) {
        model = reader.text(
          "like", "USER", "For a user of your own: service, which sends commands, or sender, which sends jobs too.")
        events = reader.flag("events", "Declare the queue countersign.events.NAME, which keeps events for three days.")
        virtualHost = reader.text("vhost", "VHOST", "Virtual host: / unless given.")
        name = reader.operand("NAME", "One of the users of the topology, or, with --like, one of your own.")
      }
    }

    static let entry = CommandEntry(
      "user", "Prints the rabbitmqctl commands that give a user of the broker its rights.",
      discussion: """
        Give each service a user of its own:
          countersign topology user billing --like service
        With --events, it also declares a queue that keeps events for the service while it is away. 'countersign service
        add' makes the user itself, where the management API's user is an administrator.
        """, options: Options.self
    ) { options, context in
      let user = try user(options.name, like: options.model)
      if options.events { try await declareEvents(of: user, in: context) }
      let lines = RabbitMQCtl.lines(for: user, in: options.virtualHost ?? "/")
      return CommandOutput(
        text: lines.joined(separator: "\n"), json: .object(["commands": .array(lines.map(JSONValue.text))]))
    }

    private static func declareEvents(of user: UserDeclaration, in context: CommandContext) async throws {
      let queue = Topology.Queues.events(of: user.name)
      guard try queue.firstMatch(of: Regex(user.read)) != nil else {
        throw CommandLineError(.usage, "--events is for services: \(user.name) may not read \(queue)")
      }
      try await context.backend().withManagement { (api) throws(CommandLineError) in
        try await TopologyTool(api: api).declareEvents(of: user.name)
      }
    }

    private static func user(_ name: String, like model: String?) throws(CommandLineError) -> UserDeclaration {
      let declared = UserDeclaration.countersign.first { $0.name == name }
      guard let model else {
        if let declared { return declared }
        throw CommandLineError(
          .usage, "there is no user \(name) in the topology: for one of your own, give --like service")
      }
      guard declared == nil else {
        throw CommandLineError(.usage, "\(name) is a user of the topology itself: leave --like out")
      }
      try ServiceKind.requireName(name)
      guard let kind = ServiceKind(rawValue: model) else {
        throw CommandLineError(.usage, "--like takes service or sender")
      }
      return kind.user(name)
    }
  }
}
