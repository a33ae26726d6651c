import CountersignMessages

/// A worker's report on a job other than an SMS of a verification.
struct OperationReport: Sendable {
  var envelope: Envelope
  /// The receipt, the assessment or the revocation.
  var owner: String
  var kind: JobName.Kind
  var report: JobReport
  /// For a push: the Apple service that accepted it.
  var environment: String?
  /// For an assessment: its score.
  var score: Double?
}
