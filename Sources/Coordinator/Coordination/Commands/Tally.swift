/// Counts of a transaction for the metrics, added when it is committed.
struct Tally: Sendable, Hashable {
  var announcements: [VerificationAction.Announcement] = []
  var refusals: [LimitRefusal.Scope] = []
  var reports: [JobReport.Outcome] = []
  var proofs: [ProofCount] = []
  var operations: [OperationCount] = []
  /// Wrong codes, of real numbers and of fictional ones.
  var wrongCodes = WrongCodes()

  /// Counts the announcements of a verification: once, however many handles its code has. Events of single handles are
  /// not counted while the code stays valid.
  mutating func note(_ actions: [VerificationAction], on verification: PhoneVerification) {
    var hasEnded = false
    for case .announce(let announcement, to: let handle) in actions {
      switch announcement {
      case .sent, .delivered, .undelivered: announcements.append(announcement)
      case .started where handle == PhoneVerification.firstHandle && verification.handles.isEmpty:
        announcements.append(announcement)
      case .started: break
      case .approved, .failed, .expired, .canceled:
        if !verification.state.isLive, !hasEnded { announcements.append(announcement) }
        hasEnded = true
      }
    }
  }

  mutating func add(_ other: Tally) {
    announcements += other.announcements
    refusals += other.refusals
    reports += other.reports
    proofs += other.proofs
    operations += other.operations
    wrongCodes.add(other.wrongCodes)
  }
}

/// Numbers of wrong codes.
struct WrongCodes: Sendable, Hashable {
  var real = 0
  var fictional = 0

  mutating func add(_ other: WrongCodes) {
    real += other.real
    fictional += other.fictional
  }
}
