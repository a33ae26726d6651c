import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

struct CommandOutput: Sendable {
  var text: String
  var json: JSONValue
  /// `success`, or `failure` when the answer is no.
  var exitCode = ExitCode.success
}

extension CommandOutput {
  init(text: String, reply: some Encodable, exitCode: ExitCode = .success) {
    self.init(text: text, json: JSONValue(encoding: reply), exitCode: exitCode)
  }
}

struct CommandContext: Sendable {
  let global: GlobalOptions
  let clock: any WallClock
  /// To standard error.
  let report: @Sendable (String) -> Void
  let input: @Sendable () throws(CommandLineError) -> [UInt8]
  let connect: @Sendable (GlobalOptions) throws(CommandLineError) -> any OperatorBackend

  var timeout: Duration { global.timeout ?? GlobalOptions.defaultTimeout }

  func backend() throws(CommandLineError) -> any OperatorBackend { try connect(global) }

  func send<C: Command>(_ command: C) async throws(CommandLineError) -> C.Reply {
    try await backend().send(command, timeout: timeout)
  }

  func sendAsOperator<C: Command>(_ command: C) async throws(CommandLineError) -> C.Reply {
    try await backend().sendAsOperator(command, timeout: timeout)
  }

  /// Has the coordinator note an act before it is done elsewhere. One that is away notes it when it runs again: what
  /// has to be repaired may be the reason that it is.
  func announce(_ act: String, on subject: String? = nil) async throws(CommandLineError) {
    do throws(CommandLineError) {
      _ = try await backend().sendAsOperator(NoteAct(act: act, subject: subject), timeout: min(timeout, Self.noteTime))
    } catch {
      guard error.isUnanswered else { throw error }
      report("countersign: the coordinator does not answer; it will note this act when it runs\n")
    }
  }

  /// The same before a repair, which goes on where no note can be left.
  func announceRepair(_ act: String, on subject: String) async {
    do throws(CommandLineError) {
      try await announce(act, on: subject)
    } catch {
      report("countersign: not noted for countersign audit: \(TerminalText.line(error.description))\n")
    }
  }

  private static let noteTime = Duration.seconds(5)
}

struct GlobalOptions: CommandOptions {
  let json: Bool
  let configFile: String?
  let brokerURL: String?
  let managementURL: String?
  let timeout: Duration?

  static let defaultTimeout = Duration.seconds(10)

  init(_ reader: OptionReader) {
    json = reader.flag("json", "Print JSON, for programs.")
    configFile = reader.text(
      "config", "FILE",
      "Configuration file: Config/countersign.json5 unless given, else /etc/countersign/countersign.json5.")
    brokerURL = reader.text(
      "broker", "URL",
      "Broker to use instead of the environment's, one host or several. A password in it shows in the process list.")
    managementURL = reader.text("management", "URL", "Management API of the broker, instead of the environment's.")
    timeout = reader.duration("timeout", "TIME", "Maximum time to wait for an answer: 10s unless given.")
  }
}

struct NoOptions: CommandOptions {
  init(_ reader: OptionReader) {}
}

/// Options of the group alone.
struct GroupOptions<Shared: CommandOptions>: CommandOptions {
  let shared: Shared

  init(_ reader: OptionReader) { shared = reader.inherited() }
}

struct CommandEntry: Sendable {
  typealias Action = @Sendable (CommandArguments, CommandContext) async throws -> CommandOutput

  let syntax: CommandSyntax
  private let commands: [CommandEntry]
  private let action: Action?

  /// A command as a value: its options, and what it does with them.
  init<Options: CommandOptions>(
    _ name: String, _ summary: String, discussion: String? = nil, options: Options.Type,
    _ run: @escaping @Sendable (Options, CommandContext) async throws -> CommandOutput
  ) {
    syntax = CommandSyntax(name, summary, discussion: discussion, options: options)
    commands = []
    action = { (arguments, context) in try await run(Options.read(arguments), context) }
  }

  /// A command of one operand.
  init(
    _ name: String, _ summary: String, discussion: String? = nil, operand: CommandOperand,
    _ run: @escaping @Sendable (String, CommandContext) async throws -> CommandOutput
  ) {
    syntax = CommandSyntax(name, summary, discussion: discussion, operands: [operand])
    commands = []
    action = { (arguments, context) in try await run(arguments.operand(operand.name), context) }
  }

  init<Shared: CommandOptions>(
    _ name: String, _ summary: String, discussion: String? = nil, options: Shared.Type, _ commands: [CommandEntry]
  ) {
    syntax = CommandSyntax(
      name, summary, discussion: discussion, options: options, subcommands: commands.map(\.syntax))
    self.commands = commands
    action = nil
  }

  init(_ name: String, _ summary: String, discussion: String? = nil, _ commands: [CommandEntry]) {
    self.init(name, summary, discussion: discussion, options: NoOptions.self, commands)
  }

  func action(of names: some Collection<String>) -> Action? {
    guard let name = names.first else { return action }
    return commands.first { $0.syntax.name == name }?.action(of: names.dropFirst())
  }
}
