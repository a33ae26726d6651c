import CountersignMessages

/// A worker's report on a job that is no message of a verification.
struct OperationReport: Sendable {
  var envelope: Envelope
  /// The receipt, the assessment or the revocation.
  var owner: String
  var kind: JobName.Kind
  var report: JobReport
  /// Of a push: which of Apple's services took it.
  var environment: String?
  /// Of an assessment.
  var score: Double?
}
