import CountersignMessages
import CountersignTelemetry
import SQLite

/// Stores and announces new blocks, and deletes blocks that no longer matter.
final class ConversionSweeper: Sendable {
  private let database: Database
  private let conversions: ConversionMonitor
  private let rules: CoordinatorRules
  private let clock: any WallClock
  private let metrics: CoordinatorMetrics
  private let logger: Logger
  private let longestSilence: Duration
  private let areCommandsTaken: @Sendable () -> Bool

  /// - Parameters:
  ///   - longestSilence: see ``ConversionOutages/longestSilence``.
  ///   - areCommandsTaken: whether commands can be sent and carried out at present: the broker accepts and delivers
  ///     messages, and the database takes their changes.
  init(
    database: Database, conversions: ConversionMonitor, rules: CoordinatorRules, clock: any WallClock,
    metrics: CoordinatorMetrics, logger: Logger, longestSilence: Duration = ConversionOutages.longestSilence,
    areCommandsTaken: @escaping @Sendable () -> Bool
  ) {
    self.database = database
    self.conversions = conversions
    self.rules = rules
    self.clock = clock
    self.metrics = metrics
    self.logger = logger
    self.longestSilence = longestSilence
    self.areCommandsTaken = areCommandsTaken
  }

  /// Records whether codes can come back. Call before expiring verifications, so that an outage is stored before
  /// anything that it excuses: a crash in between must not turn that into a block.
  func listen() async throws(DatabaseError) {
    let now = clock.now()
    let outage =
      areCommandsTaken()
      ? conversions.hear(at: now, longestSilence: longestSilence) : conversions.noteOutage(at: now)
    if let outage { try await conversions.save(outage, in: database, at: now) }
  }

  /// Writes only when there is something to write, which is rare.
  /// - Returns: `false`: there is never more.
  func sweep() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    let (unsaved, obsolete) = conversions.takeWork(at: now)
    guard !unsaved.isEmpty || !obsolete.isEmpty else { return false }
    do throws(DatabaseError) {
      let messages = try await database.write { [rules] session throws(DatabaseError) in
        let transaction = CoordinatorTransaction(session, at: now, retention: rules.retention)
        for key in obsolete { try transaction.delete(conversionBlock: key) }
        for block in unsaved {
          try transaction.store(block)
          try transaction.enqueue(
            ConversionBlocked(block, rules.conversion), id: block.eventID("blocked"), correlationID: block.key,
            cause: nil)
        }
        // The relay publishes it: a block must not wait for an absent broker.
        return try transaction.flush(forRelay: true)?.messages.count ?? 0
      }
      metrics.outboxMessages.add(Double(messages))
    } catch {
      conversions.restoreWork(unsaved)
      throw error
    }
    conversions.finish(unsaved, removing: obsolete, at: now)
    for block in unsaved { note(block, at: now) }
    return false
  }

  /// The key of a prefix may be logged: it stands for ten thousand numbers, of which at least the minimum asked for
  /// codes, and no log has the missing digits.
  private func note(_ block: ConversionBlock, at now: UnixTime) {
    logger.warning(
      "nothing is sent to these numbers for now, because too few of their codes come back",
      [
        "scope": block.scope.rawValue, "key": block.key, "region": block.region, "sent": block.counts.sent,
        "verified": block.counts.verified, "until": block.until.rfc3339,
        .hint: "look at the figures: countersign conversion list; if all is well: countersign conversion lift KEY",
      ])
  }
}

extension ConversionBlock {
  /// The `message_id` of an event about the block.
  func eventID(_ what: String) -> String {
    "conversion.\(key).\(blockedAt.milliseconds).\(what)"
  }
}

extension ConversionBlocked {
  init(_ block: ConversionBlock, _ policy: ConversionPolicy) {
    self.init(
      ConversionList.Block(block), floorPercent: policy.floor(of: block.region),
      windowSeconds: Int(policy.window.components.seconds))
  }
}

extension ConversionScope {
  init(_ scope: ConversionBlock.Scope) {
    switch scope {
    case .prefix: self = .prefix
    case .region: self = .region
    }
  }
}
