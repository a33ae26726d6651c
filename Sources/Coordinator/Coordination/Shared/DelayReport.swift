import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct DelayReport: Sendable, Hashable {
  /// Number of the SMS within its verification, from 1. `nil` for a job that is the only one of its kind.
  var number: Int?
  var worker: String?
  var reason: VerificationFailure
  var attempts: Int
  var nextAttemptAt: UnixTime
}

extension DelayReport {
  init(_ delayed: JobDelayed, number: Int? = nil, worker: String?) {
    self.init(
      number: number, worker: worker.map(JobReport.word), reason: VerificationFailure(delayed.reason),
      attempts: delayed.attempts, nextAttemptAt: delayed.nextAttemptAt)
  }
}

extension Timeline {
  /// Notes a delay of a job, in the place of its previous one: a job has one entry, with its last error. A report that
  /// is repeated, or overtaken by a newer one, changes nothing.
  mutating func note(
    _ report: DelayReport, as kind: TimelineEntry.Kind, of handle: Int? = nil, at now: UnixTime
  ) {
    let known = entries
    func isOfSameJob(_ entry: TimelineEntry) -> Bool { entry.kind == kind && entry.job == report.number }
    if let last = known.last(where: isOfSameJob)?.nextAttemptAt, report.nextAttemptAt <= last { return }
    self = Timeline()
    for other in known where !isOfSameJob(other) { append(other) }
    append(
      TimelineEntry(
        at: now, kind: kind, job: report.number, worker: report.worker, reason: report.reason.code,
        detail: report.reason.detail, attempts: report.attempts, handle: handle, nextAttemptAt: report.nextAttemptAt))
  }
}

extension ReportKind {
  init(
    onDelayOf job: MessageType, _ kind: JobName.Kind,
    report: @escaping @Sendable (_ id: String, DelayReport) -> any Report
  ) {
    self.init(JobDelayed.type(ofJob: job), from: .worker(routingKeyPrefix: job.name)) {
      received throws(ContractProblem) in
      let delayed = try received.jobDelayed()
      return JobName(parsing: delayed.jobID, kind).map {
        report($0.owner, DelayReport(delayed, worker: received.envelope.appID))
      }
    }
  }

  /// The delay of a job that shows nowhere, because its operation lasts for seconds only.
  static func ignoredDelay(of job: MessageType) -> ReportKind {
    ReportKind(JobDelayed.type(ofJob: job), from: .worker(routingKeyPrefix: job.name)) { _ in nil }
  }
}
