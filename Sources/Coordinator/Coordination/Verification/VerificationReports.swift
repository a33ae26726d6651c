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

  static let types = [type] + DeliveryReportHandler.types + OperationReports.types
  static let type = JobResult.type(ofJob: SMSDispatchJob.type)

  /// - Parameter expected: the outcome in the routing key, which the body has to match; `nil` when there is nothing to
  ///   compare.
  /// - Returns: `nil` for a result of another service's job.
  func prepare(_ envelope: Envelope, body: [UInt8], outcome expected: String?) throws(ContractProblem) -> ResultReport?
  {
    // Results of other services' jobs are not parsed: they do not concern the coordinator.
    guard envelope.messageID.hasSuffix(Self.suffix),
      let job = SMSJobs.parse(jobID: String(envelope.messageID.dropLast(Self.suffix.count)))
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

  func handle(_ report: ResultReport, in transaction: CoordinatorTransaction) throws(DatabaseError) {
    let isNew = try reports.apply(
      .jobFinished(report.report), to: report.verificationID, MessageNews(report.report), cause: report.envelope,
      in: transaction)
    if isNew { transaction.counts.reports.append(report.report.outcome) }
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

/// A provider's delivery report on an SMS of a verification.
struct ReceivedDelivery: Sendable {
  var envelope: Envelope
  var verificationID: String
  var report: DeliveryReport
}

/// Applies delivery reports of providers to their verifications.
struct DeliveryReportHandler: Sendable {
  private let reports: VerificationReports

  init(_ rules: CoordinatorRules) {
    reports = VerificationReports(rules)
  }

  static let types = [SMSDeliveryReport.type]

  /// - Parameter expected: the outcome in the routing key, which the body has to match; `nil` when there is nothing to
  ///   compare.
  /// - Returns: `nil` for a report on another service's SMS.
  func prepare(_ envelope: Envelope, body: [UInt8], outcome expected: String?) throws(ContractProblem)
    -> ReceivedDelivery?
  {
    let delivery = try SMSDeliveryReport(json: body)
    try ResultOrigin.check(expected, says: delivery.state.rawValue)
    guard let job = delivery.jobID.flatMap(SMSJobs.parse(jobID:)) else { return nil }
    let reason = delivery.reason.map { VerificationFailure($0) }
    return ReceivedDelivery(
      envelope: envelope, verificationID: job.verificationID,
      report: DeliveryReport(
        number: job.message, isDelivered: delivery.state == .delivered,
        lane: JobReport.word(delivery.lane), reference: delivery.reference.map(JobReport.word), reason: reason))
  }

  func handle(_ received: ReceivedDelivery, in transaction: CoordinatorTransaction) throws(DatabaseError) {
    _ = try reports.apply(
      .deliveryReported(received.report), to: received.verificationID, MessageNews(received.report),
      cause: received.envelope, in: transaction)
  }
}

/// Applies a report on an SMS to its verification and publishes the resulting events.
struct VerificationReports: Sendable {
  private let policy: VerificationPolicy
  private let events: VerificationEvents

  init(_ rules: CoordinatorRules) {
    policy = rules.policy
    events = VerificationEvents(codeLength: rules.policy.codeLength)
  }

  /// - Returns: whether anything changed; a report on a deleted verification changes nothing.
  func apply(
    _ event: VerificationEvent, to id: String, _ news: MessageNews, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Bool {
    guard id.utf8.count <= VerificationID.maxLength, let before = try transaction.verification(id) else { return false }
    var verification = before
    let now = transaction.now
    let actions = verification.apply(event, at: now, under: policy)
    guard verification != before else { return false }
    transaction.set(verification)
    try events.publish(actions, of: verification, news: news, cause: cause, in: transaction)
    return true
  }
}
