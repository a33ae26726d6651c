import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// Shows what administrators and operators have done.
enum AuditCommand: OperatorCommand {
  /// Acts of one message.
  private static let pageSize = 200
  private static let maxActs = 10_000

  static let syntax = CommandSyntax(
    "audit", "Shows the acts of administrators and operators on the accounts of a project, the latest first.",
    options: Options.self)

  struct Options: CommandOptions {
    let project: ProjectOption
    let limit: Int

    init(_ reader: OptionReader) {
      project = ProjectOption(reader)
      limit = reader.integer("limit", "COUNT", in: 1...maxActs, "Maximum number of acts: 50 unless given.") ?? 50
    }
  }

  static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
    let (project, backend) = (try options.project.id(), try context.backend())
    var acts: [AdministratorActed] = []
    var next: String?
    repeat {
      var command = ListActs(project: project, limit: min(pageSize, options.limit - acts.count))
      command.after = next
      let page = try await backend.sendAsOperator(command, timeout: context.timeout)
      acts += page.acts
      next = page.acts.isEmpty ? nil : page.next
    } while next != nil && acts.count < options.limit
    return CommandOutput(
      text: acts.isEmpty ? "no acts" : text(acts), json: .object(["acts": .array(acts.map { JSONValue(encoding: $0) })])
    )
  }

  private static func text(_ acts: [AdministratorActed]) -> String {
    var table = TextTable("TIME", "BY", "ACT", "ACCOUNT")
    table.rows = acts.map { act in
      let accounts = act.count.map { $0 == 1 ? "1 account" : "\($0) accounts" }
      return [act.actedAt.rfc3339, act.by, act.act, act.localID ?? accounts ?? ""]
    }
    return table.text
  }
}
