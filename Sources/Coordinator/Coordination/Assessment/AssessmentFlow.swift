import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Assessments of reCAPTCHA tokens: their results, and their end when none comes.
struct AssessmentFlow: Flow {
  private let service: AssessmentService

  init(_ service: AssessmentService) {
    self.service = service
  }

  var reports: [ReportKind] {
    [
      ReportKind(
        JobResult.type(ofJob: RecaptchaAssessJob.type), from: .worker(routingKeyPrefix: RecaptchaAssessJob.type.name)
      ) { [service] jobID in
        guard let name = JobName(parsing: jobID, .captcha) else { return nil }
        return AssessmentResult(id: name.owner, report: ProofResult.notTaken, service: service)
      } read: { [service] received throws(ContractProblem) in
        guard let result = try ProofResult(received, .captcha) else { return nil }
        return AssessmentResult(id: result.owner, report: result.report, score: result.score, service: service)
      }
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(AssessmentRecords.kind, part: .endOperations) { [service] record, keys throws(StoreError) in
        try service.addKeys(ofDue: record, to: &keys)
      } end: { [service] record, set throws(StoreError) in
        try service.end(record, in: &set)
      }
    ]
  }
}

/// A worker's report on the assessment of a token.
struct AssessmentResult: Report {
  let id: String
  let report: JobReport
  var score: Double?
  let service: AssessmentService

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    service.addKeys(ofID: id, to: &keys)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try service.addMoreKeys(of: report, on: id, to: &keys, from: set)
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    try service.handle(report, score: score, on: id, cause: cause, in: &set)
  }
}
