import Database
import Messages
import Telemetry

/// A provider's report on a message of a verification.
struct ReceivedDelivery: Sendable {
  var envelope: Envelope
  var verificationID: String
  var report: DeliveryReport
}

/// Takes what providers report to the verifications that it is about.
struct DeliveryReportHandler: Sendable {
  private let policy: VerificationPolicy
  private let announcements: AnnouncementMaker

  init(_ rules: CoordinatorRules) {
    policy = rules.policy
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
  }

  static let types = [SMSDelivery.type]

  /// - Returns: `nil` for a report on somebody else's message.
  func prepare(_ envelope: Envelope, body: [UInt8]) throws(ContractProblem) -> ReceivedDelivery? {
    let delivery = try SMSDelivery(json: body)
    guard let job = delivery.jobID.flatMap(SMSJobMaker.parse(jobID:)) else { return nil }
    let reason = delivery.reason.map { VerificationFailure($0) }
    return ReceivedDelivery(
      envelope: envelope, verificationID: job.verificationID,
      report: DeliveryReport(
        number: job.message, isDelivered: delivery.state == .delivered,
        lane: JobReport.word(delivery.lane), reference: delivery.reference.map(JobReport.word), reason: reason))
  }

  /// A report on a verification that is not there any more changes nothing.
  func handle(_ received: ReceivedDelivery, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Tally {
    guard received.verificationID.utf8.count <= VerificationID.maxLength,
      let before = try transaction.verification(received.verificationID)
    else { return Tally() }
    var verification = before
    let now = transaction.now
    let actions = verification.apply(.deliveryReported(received.report), at: now, under: policy)
    guard verification != before else { return Tally() }
    transaction.set(verification)
    var tally = Tally()
    for case .announce(let announcement) in actions {
      tally.announcements.append(announcement)
      do throws(ContractProblem) {
        transaction.enqueue(
          try announcements.message(
            announcement, of: verification, news: MessageNews(received.report), cause: received.envelope, at: now))
      } catch {
        throw DatabaseError(.misuse, "an event cannot be written: \(error)")
      }
    }
    return tally
  }
}
