import Database
import Messages
import Telemetry

/// Ends verifications whose time is over, and deletes those that nobody needs any more. Deadlines are rows that are due, so they
/// survive every restart and cost nothing while they wait.
final class DeadlineSweeper: Sendable {
  private let database: Database
  private let rules: CoordinatorRules
  private let clock: any WallClock
  private let metrics: CoordinatorMetrics
  private let announcements: AnnouncementMaker
  private let conversions: ConversionKeeper

  /// Verifications in one transaction.
  static let maxRows = 256

  init(
    database: Database, rules: CoordinatorRules, clock: any WallClock, metrics: CoordinatorMetrics,
    conversions: ConversionKeeper
  ) {
    self.database = database
    self.rules = rules
    self.clock = clock
    self.metrics = metrics
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
    self.conversions = conversions
  }

  private struct Swept: Sendable {
    var count: Int
    var tally: Tally
    var messages: Int
    var changes: ConversionChanges
  }

  /// Deals with the verifications that have been due for longest.
  /// - Returns: whether there may be more.
  func sweep() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    let swept = try await database.write { [rules, announcements] session throws(DatabaseError) in
      let transaction = CoordinatorTransaction(session, at: now, retention: rules.retention)
      var tally = Tally()
      let due = try transaction.due(limit: Self.maxRows)
      for verification in due {
        try Self.end(verification, rules, announcements, &tally, in: transaction)
      }
      // The relay publishes it: ending what is due must not wait for a broker that is away.
      let row = try transaction.flush(forRelay: true)
      return Swept(
        count: due.count, tally: tally, messages: row?.messages.count ?? 0, changes: transaction.changes)
    }
    conversions.take(swept.changes, at: now)
    metrics.count(swept.tally)
    metrics.outboxMessages.add(Double(swept.messages))
    return swept.count == Self.maxRows
  }

  private static func end(
    _ due: PhoneVerification, _ rules: CoordinatorRules, _ announcements: AnnouncementMaker, _ tally: inout Tally,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard due.state.isLive else { return try transaction.delete(due) }
    var verification = due
    for action in verification.apply(.deadlinePassed, at: transaction.now, under: rules.policy) {
      guard case .announce(let announcement) = action else { continue }
      tally.announcements.append(announcement)
      do throws(ContractProblem) {
        transaction.enqueue(
          try announcements.message(announcement, of: verification, cause: nil, at: transaction.now))
      } catch {
        throw DatabaseError(.content, "an event cannot be written: \(error)")
      }
    }
    transaction.set(verification)
  }
}
