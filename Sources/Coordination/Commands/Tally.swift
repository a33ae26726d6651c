/// What a transaction did, for the metrics: counted when it is committed.
struct Tally: Sendable, Hashable {
  var announcements: [VerificationAction.Announcement] = []
  var refusals: [LimitRefusal.Scope] = []
  var reports: [JobReport.Outcome] = []
  var proofs: [ProofCount] = []
  var operations: [OperationCount] = []

  mutating func add(_ other: Tally) {
    announcements += other.announcements
    refusals += other.refusals
    reports += other.reports
    proofs += other.proofs
    operations += other.operations
  }
}
