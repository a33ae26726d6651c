import CountersignMessages
import CountersignTelemetry

/// A block is intended and therefore a note, not a failure: it explains `PREFIX_BLOCKED` and `REGION_BLOCKED`.
enum ConversionCheck {
  static let name = "conversion"
  /// Maximum number of blocks reported one by one, the latest first.
  static let shownBlocks = 10

  static func findings(_ list: ConversionList) -> [Finding] {
    guard list.blockCount > 0 else { return [none(list)] }
    let shown = list.blocks.prefix(shownBlocks)
    let findings = shown.map { block in
      Finding(
        name, .note,
        "nothing is sent to \(block.scope) \(place(block)) until \(block.until.rfc3339):"
          + " \(block.verified) of \(block.sent) codes came back",
        hint: "if they are customers: countersign conversion lift \(block.key)")
    }
    let missing = list.blockCount - shown.count
    guard missing > 0 else { return findings }
    return findings + [
      Finding(name, .note, "nothing is sent to \(missing) more", hint: "countersign conversion list shows them")
    ]
  }

  /// The broker's and the processes' checks report the cause.
  static func skipped(_ problem: String) -> Finding {
    Finding(
      name, .skipped, "the coordinator did not report its blocks: \(problem)",
      hint: "start the coordinator, or add this user to its operators")
  }

  private static func none(_ list: ConversionList) -> Finding {
    Finding(
      name, .ok,
      list.enabled ? "nothing is blocked" : "nothing is blocked: conversion.enabled of the coordinator is false")
  }

  private static func place(_ block: ConversionList.Block) -> String {
    block.key == block.region ? block.key : "\(block.key) (\(block.region))"
  }
}
