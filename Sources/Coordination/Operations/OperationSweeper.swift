import Database
import Telemetry

/// Ends proofs, assessments and revocations whose time is over, and deletes those that nobody needs any more.
final class OperationSweeper: Sendable {
  private let database: Database
  private let rules: CoordinatorRules
  private let assessments: AssessmentHandler
  private let revocations: RevocationHandler
  private let clock: any WallClock
  private let metrics: CoordinatorMetrics

  /// Rows of each table in one transaction.
  static let maxRows = 256

  init(
    database: Database, rules: CoordinatorRules, assessments: AssessmentHandler, revocations: RevocationHandler,
    clock: any WallClock, metrics: CoordinatorMetrics
  ) {
    self.database = database
    self.rules = rules
    self.assessments = assessments
    self.revocations = revocations
    self.clock = clock
    self.metrics = metrics
  }

  private struct Swept: Sendable {
    var isMore = false
    var tally = Tally()
    var messages = 0
  }

  /// Deals with what has been due for longest.
  /// - Returns: whether there may be more.
  func sweep() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    // Most of the time nothing is due, and a look costs no commit.
    guard try await isAnythingDue(at: now) else { return false }
    let swept = try await database.write { [self] session throws(DatabaseError) in
      let transaction = CoordinatorTransaction(session, at: now, retention: rules.retention)
      var swept = Swept()
      let counts = [
        try sweepProofs(in: transaction), try transaction.deleteOldRefusals(limit: Self.maxRows),
        try sweepAssessments(&swept.tally, in: transaction), try sweepRevocations(&swept.tally, in: transaction),
      ]
      swept.isMore = counts.contains(Self.maxRows)
      // The relay publishes it: ending what is due must not wait for a broker that is away.
      swept.messages = try transaction.flush(forRelay: true)?.messages.count ?? 0
      return swept
    }
    metrics.count(swept.tally)
    metrics.outboxMessages.add(Double(swept.messages))
    return swept.isMore
  }

  private func isAnythingDue(at now: UnixTime) async throws(DatabaseError) -> Bool {
    try await database.read { session throws(DatabaseError) in
      try session.first(
        """
        SELECT EXISTS (SELECT 1 FROM app_proof WHERE due_at <= ?1) OR EXISTS (SELECT 1 FROM assessment WHERE due_at <= ?1)
          OR EXISTS (SELECT 1 FROM revocation WHERE due_at <= ?1)
          OR EXISTS (SELECT 1 FROM refused_token WHERE expires_at <= ?1)
        """, [.integer(now.milliseconds)]
      ) { row throws(DatabaseError) in row.bool(0) } ?? false
    }
  }

  private func sweepProofs(in transaction: CoordinatorTransaction) throws(DatabaseError) -> Int {
    let due = try transaction.dueProofs(limit: Self.maxRows)
    for var stored in due {
      guard stored.content.state.isLive else {
        try transaction.delete(proof: stored.content.receipt)
        continue
      }
      _ = stored.content.apply(.deadlinePassed, at: transaction.now, under: rules.proof)
      try transaction.store(stored)
    }
    return due.count
  }

  private func sweepAssessments(
    _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Int {
    let due = try transaction.dueAssessments(limit: Self.maxRows)
    for stored in due {
      if stored.content.state == .pending {
        try assessments.expire(stored, &tally, in: transaction)
      } else {
        try transaction.delete(assessment: stored.content.id)
      }
    }
    return due.count
  }

  private func sweepRevocations(
    _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Int {
    let due = try transaction.dueRevocations(limit: Self.maxRows)
    for stored in due {
      if stored.content.state.isLive {
        try revocations.expire(stored, &tally, in: transaction)
      } else {
        try transaction.delete(revocation: stored.content.id)
      }
    }
    return due.count
  }
}
