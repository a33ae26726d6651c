import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct AssessmentFlow: Flow {
  let service: AssessmentService

  var reports: [ReportKind] {
    [
      ReportKind(onJob: RecaptchaAssessJob.type, .captcha) { [service] id, report, result in
        AssessmentResult(id: id, report: report, score: result?.extras["score"]?.number, service: service)
      },
      .ignoredDelay(of: RecaptchaAssessJob.type),
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(AssessmentRecords.kind, part: .endOperations) { [service] record, set throws(StoreError) in
        try service.end(record, in: &set)
      }
    ]
  }
}

struct AssessmentResult: Report {
  let id: String
  let report: JobReport
  let score: Double?
  let service: AssessmentService

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    try service.handle(report, score: score, on: id, cause: cause, in: &set)
  }
}

/// Ends assessments, by a worker's report or at their deadline, and goes on with the waiting command or answers it.
struct AssessmentService: Sendable {
  private let rules: CoordinatorRules
  private let starts: StartDecoder
  private let verifications: VerificationService
  private let records: VerificationRecords
  private let metrics: CoordinatorMetrics
  let assessments: AssessmentRecords

  init(_ rules: CoordinatorRules, starts: StartDecoder, verifications: VerificationService) {
    self.rules = rules
    self.starts = starts
    self.verifications = verifications
    records = verifications.records
    metrics = verifications.metrics
    assessments = AssessmentRecords(rules)
  }

  // MARK: Ends

  /// A report on an assessment that is over or deleted changes nothing.
  func handle(
    _ report: JobReport, score: Double?, on id: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    guard var assessment = try assessments.found(id, in: set), let action = assessment.apply(report) else { return }
    try assessments.put(assessment, in: &set)
    if assessment.state == .passed {
      metrics.countProof(.recaptcha, "passed", in: &set)
      let event = AppVerified(app: assessment.command.app, method: .recaptcha, verifiedAt: set.now, score: score)
      try set.send(
        .event(
          event, id: "\(id).verified", correlationID: assessment.verificationID ?? id, cause: cause, at: set.now))
    }
    let captcha = AssessedCaptcha(report: report, score: score, receipt: assessment.command.receipt)
    try perform(action, on: assessment, captcha, in: &set)
  }

  func end(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    var assessment = try Assessment(record)
    guard assessment.state == .pending else { return try set.remove(record.id) }
    guard let action = assessment.applyDeadline(at: set.now) else { return }
    try assessments.put(assessment, in: &set)
    let report = JobReport(number: 1, outcome: .expired, reason: .notAssessedInTime)
    try perform(action, on: assessment, AssessedCaptcha(report: report), in: &set)
  }

  private func perform(
    _ action: Assessment.Action, on assessment: Assessment, _ captcha: AssessedCaptcha, in set: inout WorkingSet
  ) throws(StoreError) {
    switch action {
    case .proceed:
      try proceed(assessment, captcha, in: &set)
    case .refuse(let refusal):
      let (method, outcome) = refusal.countedAs
      metrics.countProof(method, outcome, in: &set)
      try answer(CommandAnswer(APIError(refusal)), assessment, in: &set)
    case .record:
      if assessment.state != .passed { metrics.countProof(.recaptcha, assessment.state.rawValue, in: &set) }
      try record(captcha, on: assessment, in: &set)
    }
  }

  /// Goes on with the start as if it had just arrived, except that its proof is known. It has its place in the inbox,
  /// and its age is that of its assessment.
  private func proceed(
    _ assessment: Assessment, _ captcha: AssessedCaptcha, in set: inout WorkingSet
  ) throws(StoreError) {
    let order: StartOrder
    do throws(APIError) {
      order = try starts.resume(assessment.command, proof: captcha, at: set.now)
    } catch {
      return try answer(CommandAnswer(error), assessment, in: &set)
    }
    // One load brings all that a start looks up, with its place in the inbox.
    var keys = StoreKeys()
    keys.add(message: try InboxKey(assessment.envelope.identity.key))
    try order.addFirstKeys(to: &keys, at: set.now)
    try set.require(keys)
    if let result = try verifications.startProven(order, assessment.envelope, in: &set) {
      try answer(result, assessment, in: &set)
    }
  }

  /// Publishes the reply and records it for a redelivery of the command: its token is used up, so the same ID cannot
  /// succeed later, whatever the answer.
  private func answer(
    _ answer: CommandAnswer, _ assessment: Assessment, in set: inout WorkingSet
  ) throws(StoreError) {
    try set.answer(
      answer, to: assessment.envelope, fingerprint: assessment.command.fingerprint, keptFor: rules.inboxRetention)
  }

  private func record(
    _ captcha: AssessedCaptcha, on assessment: Assessment, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let id = assessment.verificationID, let found = try records.found(id, in: set) else { return }
    var verification = found.verification
    verification.timeline.append(TimelineEntry(at: set.now, captcha).of(found.handle))
    try records.put(verification, before: found.verification, in: &set)
  }
}
