internal import CountersignMessages
internal import CountersignTelemetry
internal import ServiceRuntime

/// `countersign conversion`.
struct ConversionCommand {
  let backend: any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    switch arguments.command.last {
    case "list": try await list(arguments)
    default: try await lift(arguments)
    }
  }

  private func list(_ arguments: CommandArguments) async throws -> CommandOutput {
    let limit = try arguments.integer("limit", in: 1...ListConversions.maxLimit)
    let list = try await backend.sendAsOperator(ListConversions(limit: limit), timeout: try arguments.timeout())
    return CommandOutput(text: Self.text(list), json: JSONValue(encoding: list))
  }

  private func lift(_ arguments: CommandArguments) async throws -> CommandOutput {
    let lifted = try await backend.sendAsOperator(
      LiftConversionBlock(key: try arguments.operand("KEY")), timeout: try arguments.timeout())
    return CommandOutput(
      text: "lifted: messages are sent to \(lifted.scope) \(lifted.key) again, and its conversion is counted anew",
      json: JSONValue(encoding: lifted))
  }

  // MARK: Text

  private static func text(_ list: ConversionList) -> String {
    let rule =
      list.enabled
      ? "blocked when fewer than \(list.floorPercent) of 100 codes come back within \(list.windowSeconds) s"
      : "nothing is blocked: conversion.enabled of the coordinator is false"
    let parts = [rule, blocks(list), regions(list.regions), prefixes(list.prefixes)]
    return parts.compactMap { $0 }.joined(separator: "\n\n")
  }

  private static func blocks(_ list: ConversionList) -> String {
    guard !list.blocks.isEmpty else { return "no block is in force" }
    var table = TextTable("BLOCKED", "SCOPE", "REGION", "SINCE", "UNTIL", "SENT", "VERIFIED", "CONVERSION")
    table.rows = list.blocks.map { block in
      [block.key, block.scope.rawValue, block.region, block.blockedAt.rfc3339, block.until.rfc3339]
        + counts(block.sent, block.verified)
    }
    let missing = list.blockCount - list.blocks.count
    return missing > 0 ? "\(table.text)\nand \(missing) more; see --limit" : table.text
  }

  private static func regions(_ figures: [ConversionList.Figures]) -> String? {
    guard !figures.isEmpty else { return nil }
    var table = TextTable("REGION", "SENT", "VERIFIED", "CONVERSION")
    table.rows = figures.map { [$0.key] + counts($0.sent, $0.verified) }
    return table.text
  }

  private static func prefixes(_ figures: [ConversionList.Figures]) -> String? {
    guard !figures.isEmpty else { return nil }
    var table = TextTable("PREFIX", "REGION", "SENT", "VERIFIED", "CONVERSION")
    table.rows = figures.map { [$0.key, $0.region] + counts($0.sent, $0.verified) }
    return table.text
  }

  private static func counts(_ sent: Int, _ verified: Int) -> [String] {
    ["\(sent)", "\(verified)", sent > 0 ? "\(verified * 100 / sent) %" : ""]
  }
}
