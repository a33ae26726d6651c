internal import CountersignMessages
internal import CountersignTelemetry

/// Tells where the guard of conversions sends nothing at present. It does as it is told, so this is no failure: but who looks for the cause
/// of `PREFIX_BLOCKED` or `REGION_BLOCKED` finds it here.
enum ConversionCheck {
  static let name = "conversion"
  /// Blocks that are told one by one, the latest first.
  static let shownBlocks = 10

  static func findings(_ list: ConversionList) -> [Finding] {
    guard list.blockCount > 0 else { return [none(list)] }
    let shown = list.blocks.prefix(shownBlocks)
    let findings = shown.map { block in
      Finding(
        name, .note,
        "nothing is sent to \(block.scope) \(place(block)) until \(block.until.rfc3339):"
          + " \(block.verified) of \(block.sent) codes came back",
        mend: "if they are customers: countersign conversion lift \(block.key)")
    }
    let missing = list.blockCount - shown.count
    guard missing > 0 else { return findings }
    return findings + [
      Finding(name, .note, "nothing is sent to \(missing) more", mend: "countersign conversion list shows them")
    ]
  }

  /// Without an answer nothing is known; what keeps the coordinator from answering is told with the broker and the processes.
  static func skipped(_ problem: String) -> Finding {
    Finding(
      name, .skipped, "the coordinator does not say what is blocked: \(problem)",
      mend: "start the coordinator, or name this user in its operators")
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
