import Database
import Messages
import Telemetry

/// Answers the operators' commands about the conversion.
struct ConversionHandler: Sendable {
  private let policy: ConversionPolicy
  private let conversions: ConversionKeeper

  init(_ rules: CoordinatorRules, conversions: ConversionKeeper) {
    policy = rules.conversion
    self.conversions = conversions
  }

  func list(limit: Int, in transaction: CoordinatorTransaction) throws(DatabaseError) -> CommandAnswer {
    let now = transaction.now
    return try .written(
      ConversionList(
        enabled: policy.isEnabled, floorPercent: policy.floorPercent,
        windowSeconds: Int(policy.window.components.seconds), blockCount: try transaction.conversionBlockCount(),
        blocks: try transaction.conversionBlocks(limit: limit).map(ConversionList.Block.init),
        regions: conversions.worst(.region, limit: limit, at: now).map(ConversionList.Figures.init),
        prefixes: conversions.worst(.prefix, limit: limit, at: now).map(ConversionList.Figures.init)))
  }

  /// Only what is stored can be lifted: it is what operators were told of.
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
    return try .written(lifted)
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
