import CommandEngine
import CountersignMessages
import CountersignTelemetry

final class VerificationReports: Sendable {
  fileprivate let policy: VerificationPolicy
  fileprivate let records: VerificationRecords
  fileprivate let events: VerificationEvents
  fileprivate let metrics: CoordinatorMetrics

  init(_ rules: CoordinatorRules, records: VerificationRecords, metrics: CoordinatorMetrics) {
    policy = rules.policy
    self.records = records
    events = VerificationEvents(rules, metrics: metrics)
    self.metrics = metrics
  }

  var kinds: [ReportKind] {
    [
      ReportKind(
        JobResult.type(ofJob: SMSDispatchJob.type), from: .worker(routingKeyPrefix: SMSDispatchJob.type.name),
        dropped: dropped, read: result),
      ReportKind(
        JobDelayed.type(ofJob: SMSDispatchJob.type), from: .worker(routingKeyPrefix: SMSDispatchJob.type.name),
        read: delay),
      ReportKind(
        SMSDeliveryReport.type, from: .worker(routingKeyPrefix: SMSDeliveryReport.routingKeyPrefix), read: delivery),
    ]
  }

  @Sendable private func result(_ received: ReceivedReport) throws(ContractProblem) -> (any Report)? {
    guard let result = try received.jobResult(of: { SMSJobs.parse(jobID: $0) != nil }),
      let job = SMSJobs.parse(jobID: result.jobID)
    else { return nil }
    let report = JobReport(result, number: job.message, worker: received.envelope.appID)
    return SMSReport(
      verificationID: job.verificationID, event: .jobFinished(report), report: report, reports: self)
  }

  @Sendable private func delay(_ received: ReceivedReport) throws(ContractProblem) -> (any Report)? {
    let delayed = try received.jobDelayed()
    guard let job = SMSJobs.parse(jobID: delayed.jobID) else { return nil }
    let report = DelayReport(delayed, number: job.message, worker: received.envelope.appID)
    return SMSReport(verificationID: job.verificationID, event: .jobDelayed(report), report: nil, reports: self)
  }

  @Sendable private func dropped(_ jobID: String) -> (any Report)? {
    guard let job = SMSJobs.parse(jobID: jobID) else { return nil }
    let report = JobReport(number: job.message, outcome: .expired, reason: .notTaken)
    return SMSReport(
      verificationID: job.verificationID, event: .jobFinished(report), report: report, reports: self)
  }

  @Sendable private func delivery(_ received: ReceivedReport) throws(ContractProblem) -> (any Report)? {
    let delivery = try SMSDeliveryReport(json: received.body)
    try received.check(delivery.state.rawValue)
    // Reports on other services' SMS do not concern the coordinator.
    guard let job = delivery.jobID.flatMap(SMSJobs.parse(jobID:)) else { return nil }
    let report = DeliveryReport(
      number: job.message, isDelivered: delivery.state == .delivered, lane: JobReport.word(delivery.lane),
      reference: delivery.reference.map(JobReport.word), reason: delivery.reason.map { VerificationFailure($0) })
    return SMSReport(
      verificationID: job.verificationID, event: .deliveryReported(report), report: report, reports: self)
  }
}

struct SMSReport: Report {
  let verificationID: String
  let event: VerificationEvent
  /// The same for the events that it leads to. `nil` for one that leads to none.
  let report: (any MessageReport)?
  let reports: VerificationReports

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(VerificationRecords.kind, verificationID)
  }

  /// A report on a deleted verification changes nothing.
  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard let before = try reports.records.verification(verificationID, in: set) else { return }
    var verification = before
    let actions = verification.apply(event, at: set.now, under: reports.policy)
    guard verification != before else { return }
    try reports.records.put(verification, before: before, in: &set)
    try reports.events.publish(actions, of: verification, report: report, cause: cause, in: &set)
    guard case .jobFinished(let job) = event else { return }
    set.afterCommit { [metrics = reports.metrics] in metrics.countReport(job.outcome) }
  }
}

extension JobReport {
  /// Texts come from providers, so they are truncated.
  init(_ result: JobResult, number: Int, worker: String?, maxText: Int = VerificationFailure.maxDetail) {
    let reason = result.reason.map { VerificationFailure($0, maxDetail: maxText) }
    var segments: Int?
    if case .int(let count) = result.extras["segments"] { segments = count }
    self.init(
      number: number, outcome: result.outcome, lane: result.lane.map(Self.word), worker: worker.map(Self.word),
      reference: result.reference.map(Self.word), reason: reason, attempts: result.attempts,
      segments: segments)
  }

  static func word(_ text: String) -> String { text.cut(toBytes: maxWordBytes) }

  private static let maxWordBytes = 64
}

extension VerificationFailure {
  /// A third party wrote its texts, so they are truncated.
  init(_ reason: JobResult.Reason, maxDetail: Int = Self.maxDetail) {
    let providerCode = reason.providerCode.map { "provider code \($0)" }
    let detail = [reason.detail, providerCode].compactMap { $0 }.joined(separator: "; ")
    self.init(code: JobReport.word(reason.code), detail: detail.isEmpty ? nil : detail.cut(toBytes: maxDetail))
  }

  /// Bytes.
  static let maxDetail = 256
}

extension VerificationFailure {
  static let notTaken = VerificationFailure(
    code: "NOT_TAKEN", detail: "no queue took the job in time: see whether the queue is full, or missing")
}
