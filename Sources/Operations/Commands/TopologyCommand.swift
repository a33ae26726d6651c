internal import ServiceRuntime

/// `countersign topology`.
struct TopologyCommand {
  let connect: () throws(OperationsError) -> any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    switch arguments.command.last {
    case "apply":
      try await connect().withManagement { (api) throws(OperationsError) in
        let (mended, left) = try await TopologyTool(declaration: .countersign, api: api).apply()
        return Self.applied(mended: mended, left: left)
      }
    case "check":
      try await connect().withManagement { (api) throws(OperationsError) in
        Self.checked(try await TopologyTool(declaration: .countersign, api: api).check())
      }
    default: try Self.exported()
    }
  }

  /// More deeds than these are counted instead of listed: a new broker lacks everything.
  private static let mostDeeds = 12

  static func applied(mended: [TopologyDifference], left: [TopologyDifference]) -> CommandOutput {
    let deeds = mended.compactMap(\.deed)
    var lines = (deeds.count > mostDeeds ? counted(mended) : deeds) + left.map(line)
    if left.isEmpty { lines.append("the topology is complete\(deeds.isEmpty ? ": nothing to do" : "")") }
    return CommandOutput(
      text: lines.joined(separator: "\n"),
      json: .object(["mended": .array(deeds.map(JSONValue.text)), "left": .array(left.map { .text(line($0)) })]),
      exitCode: left.isEmpty ? .success : .failure)
  }

  private static func counted(_ mended: [TopologyDifference]) -> [String] {
    var counts = (policies: 0, exchanges: 0, queues: 0, bindings: 0)
    for difference in mended {
      switch difference.remedy {
      case .setPolicy: counts.policies += 1
      case .declareExchange: counts.exchanges += 1
      case .declareQueue: counts.queues += 1
      case .bind: counts.bindings += 1
      case .byHand: break
      }
    }
    return [
      "declared \(counts.exchanges) exchanges, \(counts.queues) queues, \(counts.bindings) bindings and "
        + "\(counts.policies) policies"
    ]
  }

  static func checked(_ differences: [TopologyDifference]) -> CommandOutput {
    let lines = differences.map(line)
    let hint = differences.contains(where: \.isMendable) ? ["countersign topology apply mends what it can"] : []
    return CommandOutput(
      text: lines.isEmpty ? "the topology is complete" : (lines + hint).joined(separator: "\n"),
      json: .object(["differences": .array(lines.map(JSONValue.text))]),
      exitCode: differences.isEmpty ? .success : .failure)
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
