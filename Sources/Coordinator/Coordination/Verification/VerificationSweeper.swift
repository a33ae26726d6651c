import CountersignMessages
import CountersignTelemetry
import SQLite

/// Expires verifications at their deadline, and deletes those past their retention. Deadlines are due rows, so they
/// survive every restart and cost nothing while they wait.
final class VerificationSweeper: Sendable {
  private let database: Database
  private let rules: CoordinatorRules
  private let clock: any WallClock
  private let metrics: CoordinatorMetrics
  private let events: VerificationEvents
  private let conversions: ConversionMonitor
  private let logger: Logger

  init(
    database: Database, rules: CoordinatorRules, clock: any WallClock, metrics: CoordinatorMetrics,
    conversions: ConversionMonitor, logger: Logger
  ) {
    self.database = database
    self.rules = rules
    self.clock = clock
    self.metrics = metrics
    events = VerificationEvents(codeLength: rules.policy.codeLength)
    self.conversions = conversions
    self.logger = logger
  }

  /// Processes the verifications that have been due longest.
  /// - Returns: whether there may be more.
  func sweep() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    let sweep = DueSweep(database: database, retention: rules.retention, metrics: metrics, logger: logger)
    return try await sweep.sweep(.verification, kept: rules.retention, at: now) { swept in
      conversions.take(swept.changes, at: now)
      metrics.count(swept.counts)
      metrics.outboxMessages.add(Double(swept.messages))
    } _: { [rules, events] id, transaction throws(DatabaseError) in
      guard let due = try transaction.verification(id) else { return }
      try Self.end(due, rules, events, in: transaction)
    }
  }

  private static func end(
    _ due: PhoneVerification, _ rules: CoordinatorRules, _ events: VerificationEvents,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard due.state.isLive else { return try transaction.delete(due) }
    var verification = due
    let actions = verification.apply(.deadlinePassed, at: transaction.now, under: rules.policy)
    try events.publish(actions, of: verification, cause: nil, in: transaction)
    transaction.set(verification)
  }
}
