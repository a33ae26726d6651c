import CountersignMessages
import CountersignTelemetry
import SQLite

/// A provider's delivery report on an SMS of a verification.
struct ReceivedDelivery: Sendable {
  var envelope: Envelope
  var verificationID: String
  var report: DeliveryReport
}

/// Applies delivery reports of providers to their verifications.
struct DeliveryReportHandler: Sendable {
  private let reports: VerificationReports

  init(_ rules: CoordinatorRules) {
    reports = VerificationReports(rules)
  }

  static let types = [SMSDeliveryReport.type]

  /// - Parameter expected: the outcome in the routing key, which the body has to match; `nil` when there is nothing to
  ///   compare.
  /// - Returns: `nil` for a report on another service's SMS.
  func prepare(_ envelope: Envelope, body: [UInt8], outcome expected: String?) throws(ContractProblem)
    -> ReceivedDelivery?
  {
    let delivery = try SMSDeliveryReport(json: body)
    try ResultOrigin.check(expected, says: delivery.state.rawValue)
    guard let job = delivery.jobID.flatMap(SMSJobMaker.parse(jobID:)) else { return nil }
    let reason = delivery.reason.map { VerificationFailure($0) }
    return ReceivedDelivery(
      envelope: envelope, verificationID: job.verificationID,
      report: DeliveryReport(
        number: job.message, isDelivered: delivery.state == .delivered,
        lane: JobReport.word(delivery.lane), reference: delivery.reference.map(JobReport.word), reason: reason))
  }

  func handle(_ received: ReceivedDelivery, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Tally {
    let announced = try reports.apply(
      .deliveryReported(received.report), to: received.verificationID, MessageNews(received.report),
      cause: received.envelope, in: transaction)
    return Tally(announcements: announced ?? [])
  }
}
