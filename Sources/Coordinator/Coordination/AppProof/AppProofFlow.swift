import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Receipts of apps: `app.verify`, the results of its pushes, and the end of receipts.
struct AppProofFlow: Flow {
  private let decoder: AppOrderDecoder
  private let service: AppProofService

  init(_ decoder: AppOrderDecoder, service: AppProofService) {
    self.decoder = decoder
    self.service = service
  }

  var commands: [CommandKind] {
    [
      CommandKind(VerifyApp.self, isRefusedLate: true) { [decoder] command, envelope, now throws(APIError) in
        try decoder.order(command, envelope, at: now)
      }
    ]
  }

  var reports: [ReportKind] {
    [
      ReportKind(
        JobResult.type(ofJob: PushVerifyJob.type), from: .worker(routingKeyPrefix: PushVerifyJob.type.name)
      ) { [service] jobID in
        guard let name = JobName(parsing: jobID, .push) else { return nil }
        return PushResult(receipt: name.owner, report: PushReport(report: ProofResult.notTaken), service: service)
      } read: { [service] received throws(ContractProblem) in
        guard let result = try ProofResult(received, .push) else { return nil }
        let report = PushReport(report: result.report, environment: result.environment)
        return PushResult(receipt: result.owner, report: report, service: service)
      }
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(AppProofRecords.kind, part: .endOperations) { [service] record, set throws(StoreError) in
        try service.end(record, in: &set)
      },
      DueRecords(RevokedTokenRecords.kind, part: .endOperations) { [service] record, keys throws(StoreError) in
        try service.addKeys(ofRevoked: record, to: &keys)
      } end: { [service] record, set throws(StoreError) in
        try service.goOn(record, in: &set)
      },
    ]
  }

  var operations: [OperationRecords] {
    [
      OperationRecords(AppProofRecords.kind) { [service] record, now throws(StoreError) in
        var proof = try AppProof(record)
        // An expiry that the maintenance has not processed yet is shown here.
        _ = proof.apply(.deadlinePassed, at: now, under: service.rules.proof)
        return OperationStatus(proof)
      }
    ]
  }
}

/// Result of a job about a proof, a push or an assessment.
struct ProofResult: Sendable {
  /// The receipt or the assessment.
  let owner: String
  let report: JobReport
  /// For a push: the Apple service that accepted it.
  let environment: String?
  /// For an assessment: its score.
  let score: Double?

  /// - Returns: `nil` for a result of another service's job.
  init?(_ received: ReceivedReport, _ kind: JobName.Kind) throws(ContractProblem) {
    guard let result = try received.jobResult(of: { JobName(parsing: $0, kind) != nil }),
      let name = JobName(parsing: result.jobID, kind)
    else { return nil }
    owner = name.owner
    report = JobReport(result, number: 1, worker: received.envelope.appID, maxText: Self.maxText)
    environment =
      if case .string(let text)? = result.extras["environment"] { JobReport.word(text) } else { nil }
    score = result.extras["score"]?.number
  }

  /// Bytes of a reason.
  private static let maxText = 1024

  /// The report on a job that no worker has seen.
  static let notTaken = JobReport(number: 1, outcome: .expired, reason: .notTaken)
}

extension MaintenancePart {
  /// Part that ends receipts, assessments and revocations.
  static let endOperations = MaintenancePart(rawValue: "end_operations")
}
