/// What a transaction did, for the metrics: counted when it is committed.
struct Tally: Sendable, Hashable {
  var announcements: [VerificationAction.Announcement] = []
  var refusals: [LimitRefusal.Scope] = []
  var reports: [JobReport.Outcome] = []
  var proofs: [ProofCount] = []
  var operations: [OperationCount] = []
  /// Codes that were compared, of real numbers and of fictional ones, and were wrong.
  var wrongCodes = WrongCodes()

  mutating func add(_ other: Tally) {
    announcements += other.announcements
    refusals += other.refusals
    reports += other.reports
    proofs += other.proofs
    operations += other.operations
    wrongCodes.add(other.wrongCodes)
  }
}

/// Codes that were wrong.
struct WrongCodes: Sendable, Hashable {
  var real = 0
  var fictional = 0

  mutating func add(_ other: WrongCodes) {
    real += other.real
    fictional += other.fictional
  }
}
