import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// `revocation.start`: revokes a token of Sign in with Apple, and has its owner notified by mail.
struct RevocationFlow: Flow {
  private let service: RevocationService
  private let decoder: RevocationDecoder

  init(
    _ rules: CoordinatorRules, hashes: KeyedHashes, keys: KeyRing, limits: RateLimits, metrics: CoordinatorMetrics
  ) {
    let jobs = RevocationJobs(sealer: Sealer(keys: keys))
    service = RevocationService(rules, jobs: jobs, limits: limits, metrics: metrics)
    decoder = RevocationDecoder(rules, hashes: hashes, jobs: jobs, keys: keys, service: service)
  }

  var commands: [CommandKind] {
    [
      // Carried out at any age: a revocation has to happen.
      CommandKind(StartRevocation.self) { [decoder] command, envelope, now throws(APIError) in
        try decoder.order(command, envelope, at: now)
      }
    ]
  }

  var reports: [ReportKind] {
    [report(on: AppleRevokeJob.type, .revoke), report(on: MailRelayJob.type, .notice)]
  }

  private func report(on job: MessageType, _ kind: RevocationService.JobKind) -> ReportKind {
    ReportKind(
      JobResult.type(ofJob: job), from: .worker(routingKeyPrefix: job.name),
      dropped: { [service] id in
        guard let name = JobName(parsing: id, kind.name) else { return nil }
        let report = JobReport(number: 1, outcome: .expired, reason: .notTaken)
        return RevocationReport(id: name.owner, kind: kind, report: report, service: service)
      },
      read: { [service] received throws(ContractProblem) in
        guard let result = try received.jobResult(of: { JobName(parsing: $0, kind.name) != nil }),
          let name = JobName(parsing: result.jobID, kind.name)
        else { return nil }
        let report = JobReport(
          result, number: 1, worker: received.envelope.appID, maxText: RevocationReport.maxText)
        return RevocationReport(id: name.owner, kind: kind, report: report, service: service)
      })
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(RevocationRecords.kind, part: MaintenancePart(rawValue: "end_operations")) {
        [service] record, set throws(StoreError) in
        let revocation = try Revocation(record)
        guard revocation.state.isLive else { return try set.remove(record.id) }
        try service.expire(revocation, in: &set)
      }
    ]
  }

  var operations: [OperationRecords] {
    [
      OperationRecords(RevocationRecords.kind) { record, _ throws(StoreError) in
        OperationStatus(try Revocation(record))
      }
    ]
  }
}

/// A worker's report on a job of a revocation.
struct RevocationReport: Report {
  /// ID of the revocation.
  let id: String
  let kind: RevocationService.JobKind
  let report: JobReport
  let service: RevocationService

  /// Bytes. Instructions for a user whose token cannot be revoked take a few sentences.
  static let maxText = 1024

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    service.records.addKeys(ofID: id, to: &keys)
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    try service.handle(report, kind, on: id, cause: cause, in: &set)
  }
}
