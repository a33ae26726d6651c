import CountersignMessages
import SQLite

/// Applies reports of workers to their receipts, assessments and revocations.
struct OperationReports: Sendable {
  private let appProofs: AppProofService
  private let assessments: AssessmentService
  private let revocations: RevocationService

  init(appProofs: AppProofService, assessments: AssessmentService, revocations: RevocationService) {
    self.appProofs = appProofs
    self.assessments = assessments
    self.revocations = revocations
  }

  /// Types of the handled results, and the kinds of jobs they belong to.
  static let kinds: [MessageType: JobName.Kind] = [
    JobResult.type(ofJob: PushVerifyJob.type): .push, JobResult.type(ofJob: RecaptchaAssessJob.type): .captcha,
    JobResult.type(ofJob: AppleRevokeJob.type): .revoke, JobResult.type(ofJob: MailRelayJob.type): .notice,
  ]

  static let types = Array(kinds.keys)

  /// - Parameter expected: the outcome in the routing key, which the body has to match; `nil` when there is nothing to
  ///   compare.
  /// - Returns: `nil` for a result of another service's job.
  func prepare(_ envelope: Envelope, body: [UInt8], outcome expected: String?) throws(ContractProblem)
    -> OperationReport?
  {
    guard let kind = Self.kinds[envelope.type], envelope.messageID.hasSuffix(Self.suffix),
      let name = JobName(parsing: String(envelope.messageID.dropLast(Self.suffix.count)), kind)
    else { return nil }
    let result = try JobResult(json: body)
    try ResultOrigin.check(expected, says: result.outcome.rawValue)
    guard result.jobID == name.text else {
      throw ContractProblem(.invalidField, field: "jobID", "must be the message_id without \(Self.suffix)")
    }
    var report = OperationReport(
      envelope: envelope, owner: name.owner, kind: kind,
      report: JobReport(result, number: 1, worker: envelope.appID, maxText: Self.maxText))
    if case .string(let environment)? = result.extras["environment"] {
      report.environment = JobReport.word(environment)
    }
    report.score = result.extras["score"]?.number
    return report
  }

  private static let suffix = JobResult.messageID(jobID: "")
  /// Bytes. Instructions for a user whose token cannot be revoked take a few sentences.
  private static let maxText = 1024

  func handle(_ report: OperationReport, in transaction: CoordinatorTransaction) throws(DatabaseError) {
    switch report.kind {
    case .push:
      let push = PushReport(report: report.report, environment: report.environment)
      try appProofs.handle(push, on: report.owner, cause: report.envelope, in: transaction)
    case .captcha:
      try assessments.handle(
        report.report, score: report.score, on: report.owner, cause: report.envelope, in: transaction)
    case .revoke:
      try revocations.handle(
        report.report, .revoke, on: report.owner, cause: report.envelope, in: transaction)
    case .notice:
      try revocations.handle(
        report.report, .notice, on: report.owner, cause: report.envelope, in: transaction)
    }
  }
}

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
