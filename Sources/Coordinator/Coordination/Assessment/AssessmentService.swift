import CountersignMessages
import CountersignTelemetry
import SQLite

/// Ends assessments, by a worker's report or at their deadline, and goes on with the waiting command or answers it.
struct AssessmentService: Sendable {
  private let starts: StartDecoder
  private let verifications: VerificationService

  init(starts: StartDecoder, verifications: VerificationService) {
    self.starts = starts
    self.verifications = verifications
  }

  /// Applies a worker's report. A report on an assessment that is over or deleted changes nothing.
  func handle(
    _ report: JobReport, score: Double?, on id: String, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard var stored = try transaction.assessment(id), let action = stored.content.apply(report) else { return }
    try transaction.store(stored)
    let assessment = stored.content
    if assessment.state == .passed {
      transaction.counts.proofs.append(ProofCount(.recaptcha, "passed"))
      let event = AppVerified(
        app: assessment.command.app, method: .recaptcha, verifiedAt: transaction.now, score: score)
      try transaction.enqueue(
        event, id: "\(id).verified", correlationID: assessment.verificationID ?? id, cause: cause)
    }
    let captcha = AssessedCaptcha(report: report, score: score, receipt: assessment.command.receipt)
    try perform(action, on: assessment, captcha, in: transaction)
  }

  /// Ends an assessment whose deadline has passed.
  func expire(
    _ stored: Stored<Assessment>, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    var stored = stored
    guard let action = stored.content.applyDeadline(at: transaction.now) else { return }
    try transaction.store(stored)
    let report = JobReport(number: 1, outcome: .expired, reason: .notAssessedInTime)
    try perform(action, on: stored.content, AssessedCaptcha(report: report), in: transaction)
  }

  private func perform(
    _ action: Assessment.Action, on assessment: Assessment, _ captcha: AssessedCaptcha,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    switch action {
    case .proceed:
      try proceed(assessment, captcha, in: transaction)
    case .refuse(let refusal):
      transaction.counts.proofs.append(ProofCount(refusal))
      try answer(CommandAnswer(APIError(refusal)), assessment, in: transaction)
    case .record:
      if assessment.state != .passed {
        transaction.counts.proofs.append(ProofCount(.recaptcha, assessment.state.rawValue))
      }
      try record(captcha, on: assessment, in: transaction)
    }
  }

  /// Goes on with the start as if it had just arrived, except that its proof is known. It has its place in the inbox,
  /// and its age is that of its assessment.
  private func proceed(
    _ assessment: Assessment, _ captcha: AssessedCaptcha,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    let order: StartOrder
    do throws(APIError) {
      order = try starts.resume(assessment.command, proof: captcha, at: transaction.now)
    } catch {
      return try answer(CommandAnswer(error), assessment, in: transaction)
    }
    let request = CommandRequest(
      envelope: assessment.envelope, fingerprint: assessment.command.fingerprint, order: .change(.start(order)))
    if let result = try verifications.startProven(order, request, in: transaction) {
      try answer(result, assessment, in: transaction)
    }
  }

  /// Publishes the reply and records it for a redelivery of the command: its token is used up, so the same ID cannot
  /// succeed later, whatever the answer.
  private func answer(
    _ answer: CommandAnswer, _ assessment: Assessment, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    let reply = RecordedReply(fingerprint: assessment.command.fingerprint, type: answer.type.text, body: answer.body)
    let envelope = assessment.envelope
    let isKnownBySender = assessment.command.sender != nil
    try transaction.record(reply, toMessage: isKnownBySender ? envelope.identity.key : assessment.messageID)
    // A row written by an earlier version may name any queue.
    guard let replyTo = envelope.replyTo, ReplyAddress.isAllowed(replyTo, for: envelope.identity.sender) else { return }
    transaction.enqueue(
      ReplyMaker.reply(
        answer, to: replyTo, messageID: envelope.messageID, correlationID: envelope.correlationID,
        trace: envelope.trace, at: transaction.now))
  }

  /// Writes the outcome into the timeline of a verification that did not wait for it.
  private func record(
    _ captcha: AssessedCaptcha, on assessment: Assessment, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard let id = assessment.verificationID, var found = try transaction.found(id) else { return }
    found.verification.timeline.append(TimelineEntry(at: transaction.now, captcha).of(found.handle))
    transaction.set(found.verification)
  }
}

extension Assessment {
  /// The envelope of the waiting command.
  fileprivate var envelope: Envelope {
    Envelope(
      type: StartVerification.type, messageID: messageID, correlationID: command.correlationID,
      replyTo: command.replyTo, userID: command.sender == SenderRule.unnamed ? nil : command.sender,
      trace: command.traceparent.flatMap(TraceContext.init(traceparent:)))
  }
}
