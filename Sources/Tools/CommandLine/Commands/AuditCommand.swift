import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// Shows what administrators and operators have done: the record of accounts and that of the coordinator as one.
enum AuditCommand {
  /// Acts of one message.
  private static let pageSize = 200
  private static let maxActs = 10_000

  struct Options: CommandOptions {
    let project: ProjectOption
    let limit: Int

    init(_ reader: OptionReader) {
      project = ProjectOption(reader, "Project whose accounts the acts were on. Without it, acts on no accounts only.")
      limit = reader.integer("limit", "COUNT", in: 1...maxActs, "Maximum number of acts: 50 unless given.") ?? 50
    }
  }

  private struct Act {
    let at: UnixTime
    let row: [String]
    let json: JSONValue

    init(_ act: AdministratorActed) {
      let accounts = act.count.map { $0 == 1 ? "1 account" : "\($0) accounts" }
      at = act.actedAt
      row = [act.actedAt.rfc3339, act.by, act.act, act.localID ?? act.subject ?? accounts ?? ""]
      json = JSONValue(encoding: act)
    }

    init(_ act: OperatorAct) {
      at = act.actedAt
      row = [act.actedAt.rfc3339, act.by, act.act, act.subject ?? ""]
      json = JSONValue(encoding: act)
    }
  }

  static let entry = CommandEntry(
    "audit", "Shows the acts of administrators and operators, the latest first.", options: Options.self
  ) { options, context in
    let (backend, timeout) = (try context.backend(), context.timeout)
    var acts: [Act] = []
    if options.project.isGiven {
      let project = try options.project.id()
      acts = try await pages(options.limit) { limit, after throws(CommandLineError) in
        var command = ListActs(project: project, limit: limit)
        command.after = after
        let page = try await backend.sendAsOperator(command, timeout: timeout)
        return (page.acts.map(Act.init), page.next)
      }
    }
    acts += try await pages(options.limit) { limit, after throws(CommandLineError) in
      var command = ListOperatorActs(limit: limit)
      command.after = after
      let page = try await backend.sendAsOperator(command, timeout: timeout)
      return (page.acts.map(Act.init), page.next)
    }
    return output(acts.sorted { $0.at > $1.at }.prefix(options.limit))
  }

  private static func pages(
    _ limit: Int, _ page: (Int, String?) async throws(CommandLineError) -> (acts: [Act], next: String?)
  ) async throws(CommandLineError) -> [Act] {
    var acts: [Act] = []
    var next: String?
    repeat {
      let found = try await page(min(pageSize, limit - acts.count), next)
      acts += found.acts
      next = found.acts.isEmpty ? nil : found.next
    } while next != nil && acts.count < limit
    return acts
  }

  private static func output(_ acts: ArraySlice<Act>) -> CommandOutput {
    var table = TextTable("TIME", "BY", "ACT", "ABOUT")
    table.rows = acts.map(\.row)
    return CommandOutput(text: acts.isEmpty ? "no acts" : table.text, json: .object(["acts": .array(acts.map(\.json))]))
  }
}
