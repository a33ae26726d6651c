internal import ServiceRuntime

/// `countersign topology`.
struct TopologyCommand {
  let connect: () throws(OperationsError) -> any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let includesUsers = !arguments.flag("without-users")
    switch arguments.command.last {
    case "apply":
      return try await connect().withManagement { (api) throws(OperationsError) in
        let (mended, left) = try await TopologyTool(
          declaration: .countersign, api: api, includesUsers: includesUsers
        ).apply()
        return Self.applied(mended: mended, left: left)
      }
    case "check":
      return try await connect().withManagement { (api) throws(OperationsError) in
        Self.checked(
          try await TopologyTool(declaration: .countersign, api: api, includesUsers: includesUsers).check())
      }
    case "user": return try TopologyUserCommand.run(arguments)
    default: return try Self.exported()
    }
  }

  /// More deeds than these are counted instead of listed: a new broker lacks everything.
  private static let mostDeeds = 12

  static func applied(mended: [TopologyDifference], left: TopologyReport) -> CommandOutput {
    let deeds = mended.compactMap(\.deed)
    var lines = (deeds.count > mostDeeds ? counted(mended) : deeds) + left.differences.map(line)
    if left.differences.isEmpty { lines.append("the topology is complete\(deeds.isEmpty ? ": nothing to do" : "")") }
    // Who applies a topology need not be an administrator: the users come with the definitions, once.
    lines += notes(left)
    return CommandOutput(
      text: lines.joined(separator: "\n"),
      json: .object([
        "mended": .array(deeds.map(JSONValue.text)), "left": .array(left.differences.map { .text(line($0)) }),
        "notes": .array(notes(left).map(JSONValue.text)),
      ]),
      exitCode: left.differences.isEmpty ? .success : .failure)
  }

  private static func notes(_ report: TopologyReport) -> [String] {
    (report.notes + [report.unchecked].compactMap { $0 }).map { "note: \($0)" }
  }

  private static func counted(_ mended: [TopologyDifference]) -> [String] {
    var counts = (policies: 0, exchanges: 0, queues: 0, bindings: 0)
    var others: [String] = []
    for difference in mended {
      switch difference.remedy {
      case .setPolicy: counts.policies += 1
      case .declareExchange: counts.exchanges += 1
      case .declareQueue: counts.queues += 1
      case .bind: counts.bindings += 1
      case .unbind, .addUser, .setPermissions, .setTopicRight, .setLimits, .setQueueLimit, .byHand:
        if let deed = difference.deed { others.append(deed) }
      }
    }
    return [
      "declared \(counts.exchanges) exchanges, \(counts.queues) queues, \(counts.bindings) bindings and "
        + "\(counts.policies) policies"
    ] + others
  }

  /// Exit code 77 says that nothing differs in what may be seen, and that not all of it may.
  static func checked(_ report: TopologyReport) -> CommandOutput {
    let differences = report.differences.map(line)
    let hint = report.differences.contains(where: \.isMendable) ? ["countersign topology apply mends what it can"] : []
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

  private static func exported() throws -> CommandOutput {
    let document = try DefinitionsDocument().json()
    let text = String(decoding: document.dropLast(), as: UTF8.self)
    return CommandOutput(text: text, json: RedactedJSON.show(document, reveal: true) ?? .null)
  }

  private static func line(_ difference: TopologyDifference) -> String {
    if case .byHand(let how) = difference.remedy {
      "\(difference.description); by hand: \(how)"
    } else {
      difference.description
    }
  }
}
