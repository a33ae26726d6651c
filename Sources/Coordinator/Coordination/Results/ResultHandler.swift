import CountersignMessages
import CountersignTelemetry
import SQLite

/// A worker's report on an SMS of a verification.
struct ResultReport: Sendable {
  var envelope: Envelope
  var verificationID: String
  var report: JobReport
}

/// Applies reports of workers to their verifications.
struct ResultHandler: Sendable {
  private let reports: VerificationReports

  init(_ rules: CoordinatorRules) {
    reports = VerificationReports(rules)
  }

  static let types = [type] + DeliveryReportHandler.types + OperationReportHandler.types
  static let type = JobResult.type(ofJob: SMSDispatchJob.type)

  /// - Parameter expected: the outcome in the routing key, which the body has to match; `nil` when there is nothing to
  ///   compare.
  /// - Returns: `nil` for a result of another service's job.
  func prepare(_ envelope: Envelope, body: [UInt8], outcome expected: String?) throws(ContractProblem) -> ResultReport?
  {
    // Results of other services' jobs are not parsed: they do not concern the coordinator.
    guard envelope.messageID.hasSuffix(Self.suffix),
      let job = SMSJobMaker.parse(jobID: String(envelope.messageID.dropLast(Self.suffix.count)))
    else { return nil }
    let result = try JobResult(json: body)
    try ResultOrigin.check(expected, says: result.outcome.rawValue)
    guard envelope.messageID == JobResult.messageID(jobID: result.jobID) else {
      throw ContractProblem(.invalidField, field: "jobID", "must be the message_id without \(Self.suffix)")
    }
    return ResultReport(
      envelope: envelope, verificationID: job.verificationID,
      report: JobReport(result, number: job.message, worker: envelope.appID))
  }

  private static let suffix = JobResult.messageID(jobID: "")

  func handle(_ report: ResultReport, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Tally {
    let announced = try reports.apply(
      .jobFinished(report.report), to: report.verificationID, MessageNews(report.report), cause: report.envelope,
      in: transaction)
    guard let announced else { return Tally() }
    return Tally(announcements: announced, reports: [report.report.outcome])
  }
}

extension JobReport {
  /// Texts come from providers, so they are truncated.
  init(_ result: JobResult, number: Int, worker: String?, maxText: Int = VerificationFailure.maxDetail) {
    let outcome: Outcome =
      switch result.outcome {
      case .accepted: .accepted
      case .refused: .refused
      case .expired: .expired
      case .unknown: .unknown
      }
    let reason = result.reason.map { VerificationFailure($0, maxDetail: maxText) }
    var segments: Int?
    if case .int(let count) = result.extras["segments"] { segments = count }
    self.init(
      number: number, outcome: outcome, lane: result.lane.map(Self.word), worker: worker.map(Self.word),
      reference: result.reference.map(Self.word), reason: reason, attempts: result.attempts,
      segments: segments)
  }

  /// A name or an ID written by a third party.
  static func word(_ text: String) -> String { text.cut(toBytes: maxWordBytes) }

  private static let maxWordBytes = 64
}

extension VerificationFailure {
  /// A reason in a report; a third party wrote its texts, so they are truncated.
  init(_ reason: JobResult.Reason, maxDetail: Int = Self.maxDetail) {
    let providerCode = reason.providerCode.map { "provider code \($0)" }
    let detail = [reason.detail, providerCode].compactMap { $0 }.joined(separator: "; ")
    self.init(code: JobReport.word(reason.code), detail: detail.isEmpty ? nil : detail.cut(toBytes: maxDetail))
  }

  /// Bytes.
  static let maxDetail = 256
}
