import Database
import Messages
import Telemetry

/// A worker's report on a message of a verification.
struct ResultReport: Sendable {
  var envelope: Envelope
  var verificationID: String
  var report: JobReport
}

/// Takes what workers report to the verifications that it is about.
struct ResultHandler: Sendable {
  private let rules: CoordinatorRules
  private let announcements: AnnouncementMaker

  init(_ rules: CoordinatorRules) {
    self.rules = rules
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
  }

  static let types = [type] + OperationReportHandler.types
  static let type = JobResult.type(ofJob: SMSDispatchJob.type)

  /// - Returns: `nil` for a result of somebody else's job.
  func prepare(_ envelope: Envelope, body: [UInt8]) throws(ContractProblem) -> ResultReport? {
    // Other services' jobs are not looked into: their results are none of the coordinator's business.
    guard envelope.messageID.hasSuffix(Self.suffix),
      let job = SMSJobMaker.parse(jobID: String(envelope.messageID.dropLast(Self.suffix.count)))
    else { return nil }
    let result = try JobResult(json: body)
    guard envelope.messageID == JobResult.messageID(jobID: result.jobID) else {
      throw ContractProblem(.invalidField, field: "jobID", "must be the message_id without \(Self.suffix)")
    }
    return ResultReport(
      envelope: envelope, verificationID: job.verificationID,
      report: JobReport(result, number: job.message, worker: envelope.appID))
  }

  private static let suffix = JobResult.messageID(jobID: "")

  /// A report on a verification that is not there any more changes nothing.
  func handle(_ report: ResultReport, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Tally {
    guard report.verificationID.utf8.count <= VerificationID.maxLength,
      let before = try transaction.verification(report.verificationID)
    else { return Tally() }
    var verification = before
    let now = transaction.now
    let actions = verification.apply(.jobFinished(report.report), at: now, under: rules.policy)
    guard verification != before else { return Tally() }
    transaction.set(verification)
    var tally = Tally(reports: [report.report.outcome])
    for action in actions {
      guard case .announce(let announcement) = action else { continue }
      tally.announcements.append(announcement)
      do throws(ContractProblem) {
        transaction.enqueue(
          try announcements.message(
            announcement, of: verification, report: report.report, cause: report.envelope, at: now))
      } catch {
        throw DatabaseError(.misuse, "an event cannot be written: \(error)")
      }
    }
    return tally
  }
}

extension JobReport {
  /// Texts come from providers, so they are cut.
  init(_ result: JobResult, number: Int, worker: String?, maxText: Int = Self.maxText) {
    let outcome: Outcome =
      switch result.outcome {
      case .accepted: .accepted
      case .refused: .refused
      case .expired: .expired
      case .unknown: .unknown
      }
    let reason = result.reason.map { reason in
      let providerCode = reason.providerCode.map { "provider code \($0)" }
      let detail = [reason.detail, providerCode].compactMap { $0 }.joined(separator: "; ")
      return VerificationFailure(
        code: String(reason.code.prefix(Self.maxWord)),
        detail: detail.isEmpty ? nil : String(detail.prefix(maxText)))
    }
    var segments: Int?
    if case .int(let count) = result.extras["segments"] { segments = count }
    self.init(
      number: number, outcome: outcome, lane: result.lane.map { String($0.prefix(Self.maxWord)) },
      worker: worker.map { String($0.prefix(Self.maxWord)) },
      reference: result.reference.map { String($0.prefix(Self.maxWord)) }, reason: reason, attempts: result.attempts,
      segments: segments)
  }

  private static let maxWord = 64
  private static let maxText = 256
}
