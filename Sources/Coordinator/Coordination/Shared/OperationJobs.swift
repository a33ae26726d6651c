import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// IDs of jobs: `<operation>.<kind>.1`, always the same for a job, so that it is carried out once. Each operation has
/// one job of a kind.
struct JobName: Sendable, Hashable {
  enum Kind: String, Sendable {
    case push, captcha, revoke, notice
  }

  /// ID of the operation: a receipt, an assessment or a revocation.
  let owner: String
  let kind: Kind

  init(_ owner: String, _ kind: Kind) {
    self.owner = owner
    self.kind = kind
  }

  /// The `message_id`.
  var text: String { owner + Self.suffix(kind) }

  private static func suffix(_ kind: Kind) -> String { ".\(kind.rawValue).1" }

  init?(parsing text: String, _ kind: Kind) {
    let suffix = Self.suffix(kind)
    guard text.hasSuffix(suffix) else { return nil }
    self.init(String(text.dropLast(suffix.count)), kind)
    guard !owner.isEmpty, owner.utf8.count <= VerificationID.maxLength else { return nil }
  }
}

extension ReportKind {
  /// The result of an operation's job: that of a worker, or that no queue took the job in time.
  init(
    onJob job: MessageType, _ kind: JobName.Kind,
    report: @escaping @Sendable (_ id: String, JobReport, JobResult?) -> any Report
  ) {
    self.init(JobResult.type(ofJob: job), from: .worker(routingKeyPrefix: job.name)) { jobID in
      JobName(parsing: jobID, kind).map {
        report($0.owner, JobReport(number: 1, outcome: .expired, reason: .notTaken), nil)
      }
    } read: { received throws(ContractProblem) in
      guard let result = try received.jobResult(of: { JobName(parsing: $0, kind) != nil }),
        let name = JobName(parsing: result.jobID, kind)
      else { return nil }
      return report(
        name.owner, JobReport(result, number: 1, worker: received.envelope.appID, maxText: Self.maxReasonBytes), result)
    }
  }

  /// Instructions for a user whose token cannot be revoked take a few sentences.
  private static let maxReasonBytes = 1024
}

extension MaintenancePart {
  static let endOperations = MaintenancePart(rawValue: "end_operations")
}
