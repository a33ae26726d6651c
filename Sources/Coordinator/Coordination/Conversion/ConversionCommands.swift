import CountersignMessages
import CountersignTelemetry
import SQLite

/// Answers the operators' commands about the conversion.
struct ConversionCommands: Sendable {
  private let policy: ConversionPolicy

  init(_ rules: CoordinatorRules) {
    policy = rules.conversion
  }

  func list(_ figures: ConversionFigures, in transaction: CoordinatorTransaction) throws(DatabaseError) -> CommandAnswer
  {
    try CommandAnswer(
      ConversionList(
        enabled: policy.isEnabled, floorPercent: policy.floorPercent,
        windowSeconds: Int(policy.window.components.seconds), blockCount: try transaction.conversionBlockCount(),
        blocks: try transaction.conversionBlocks(limit: figures.limit).map(ConversionList.Block.init),
        regions: figures.regions.map(ConversionList.Figures.init),
        prefixes: figures.prefixes.map(ConversionList.Figures.init)))
  }

  /// Only a stored block can be lifted: operators know of no other.
  func lift(
    _ key: String, _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    guard var block = try transaction.conversionBlock(key) else { return CommandAnswer(.notBlocked) }
    block.liftedAt = transaction.now
    try transaction.store(block)
    transaction.changes.lifted.append(block)
    let lifted = ConversionLifted(block, at: transaction.now)
    try transaction.enqueue(
      lifted, id: block.eventID("lifted"), correlationID: key, cause: request.envelope)
    return try CommandAnswer(lifted)
  }
}

extension APIError {
  static let notBlocked = APIError(
    .invalidArgument, "nothing is blocked under this key: countersign conversion list shows what is", field: "key",
    reason: "NOT_BLOCKED")
  static let notAnOperator = APIError(
    .operationNotAllowed,
    "this command is for operators: send it as a user of the broker that 'operators' in the configuration of the coordinator names, with user_id set",
    field: "user_id")
}

extension ConversionList.Block {
  init(_ block: ConversionBlock) {
    self.init(
      scope: ConversionScope(block.scope), key: block.key, region: block.region, blockedAt: block.blockedAt,
      until: block.until, sent: block.counts.sent, verified: block.counts.verified)
  }
}

extension ConversionList.Figures {
  init(_ figures: ConversionTable.Figures) {
    self.init(
      key: figures.key, region: figures.region, sent: figures.counts.sent, verified: figures.counts.verified)
  }
}

extension ConversionLifted {
  init(_ block: ConversionBlock, at now: UnixTime) {
    self.init(
      scope: ConversionScope(block.scope), key: block.key, region: block.region, blockedAt: block.blockedAt,
      until: block.until, liftedAt: now)
  }
}
