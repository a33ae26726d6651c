import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum ConversionCommand {
  static let group = CommandEntry(
    "conversion", "Shows the share of codes that come back, and lifts blocks.",
    discussion: """
      Where too few codes come back, messages may not arrive, or are sent for the fees alone. The coordinator then stops sending
      to that prefix (the numbers that differ in their last four digits only) or that region for a while.
      """,
    [list, lift])
}

extension ConversionCommand {
  struct ListOptions: CommandOptions {
    let limit: Int?

    init(_ reader: OptionReader) {
      limit = reader.integer(
        "limit", "NUMBER", in: 1...ListConversions.maxLimit,
        "Most entries of each kind, up to \(ListConversions.maxLimit): \(ListConversions.defaultLimit) unless given.")
    }
  }

  static let list = CommandEntry("list", "Lists blocks and recent figures, the worst first.", options: ListOptions.self)
  { options, context in
    let list = try await context.sendAsOperator(ListConversions(limit: options.limit))
    return CommandOutput(text: text(list), reply: list)
  }

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

  static let lift = CommandEntry(
    "lift", "Resumes sending, and restarts the count. Exit code 1 when nothing is blocked there.",
    operand: .required("KEY", "Prefix or region, as the list shows it: +1415555, US.")
  ) { key, context in
    let lifted = try await context.sendAsOperator(LiftConversionBlock(key: key))
    return CommandOutput(
      text: "lifted: messages are sent to \(lifted.scope) \(lifted.key) again, and its conversion is counted anew",
      reply: lifted)
  }
}
