import CountersignTelemetry
import SQLite

/// Ends proofs, assessments and revocations at their deadline, and deletes those past their retention.
final class OperationSweeper: Sendable {
  private let database: Database
  private let rules: CoordinatorRules
  private let assessments: AssessmentService
  private let revocations: RevocationService
  private let clock: any WallClock
  private let metrics: CoordinatorMetrics
  private let logger: Logger

  init(
    database: Database, rules: CoordinatorRules, assessments: AssessmentService, revocations: RevocationService,
    clock: any WallClock, metrics: CoordinatorMetrics, logger: Logger
  ) {
    self.database = database
    self.rules = rules
    self.assessments = assessments
    self.revocations = revocations
    self.clock = clock
    self.metrics = metrics
    self.logger = logger
  }

  /// Processes the rows that have been due longest.
  /// - Returns: whether there may be more.
  func sweep() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    // Usually nothing is due, and a read costs no commit.
    guard try await isAnythingDue(at: now) else { return false }
    var isMore = try await deleteOldRefusals(at: now)
    for table in [DueTable.appProof, .assessment, .revocation] {
      if try await sweep(table, at: now) { isMore = true }
    }
    return isMore
  }

  private func sweep(_ table: DueTable, at now: UnixTime) async throws(DatabaseError) -> Bool {
    let sweep = DueSweep(database: database, retention: rules.retention, metrics: metrics, logger: logger)
    let kept = table == .revocation ? rules.revocation.retention + RevocationPolicy.grace : rules.retention
    return try await sweep.sweep(table, kept: kept, at: now) { swept in
      metrics.count(swept.counts)
      metrics.outboxMessages.add(Double(swept.messages))
    } _: { [self] key, transaction throws(DatabaseError) in
      switch table {
      case .appProof: try endProof(key, in: transaction)
      case .assessment: try endAssessment(key, in: transaction)
      case .revocation: try endRevocation(key, in: transaction)
      case .verification: break
      }
    }
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

  private func deleteOldRefusals(at now: UnixTime) async throws(DatabaseError) -> Bool {
    try await database.write { [retention = rules.retention] session throws(DatabaseError) in
      try CoordinatorTransaction(session, at: now, retention: retention)
        .deleteOldRefusals(limit: DueSweep.maxRows) == DueSweep.maxRows
    }
  }

  private func endProof(_ receipt: String, in transaction: CoordinatorTransaction) throws(DatabaseError) {
    guard var stored = try transaction.appProof(receipt) else { return }
    guard stored.content.state.isLive else { return try transaction.delete(proof: receipt) }
    _ = stored.content.apply(.deadlinePassed, at: transaction.now, under: rules.proof)
    try transaction.store(stored)
  }

  private func endAssessment(
    _ id: String, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard let stored = try transaction.assessment(id) else { return }
    guard stored.content.state == .pending else { return try transaction.delete(assessment: id) }
    try assessments.expire(stored, in: transaction)
  }

  private func endRevocation(
    _ id: String, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard let stored = try transaction.revocation(id) else { return }
    guard stored.content.state.isLive else { return try transaction.delete(revocation: id) }
    try revocations.expire(stored, in: transaction)
  }
}
