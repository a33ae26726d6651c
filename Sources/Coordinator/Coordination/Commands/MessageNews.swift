/// What was reported of one message, as far as events tell of it.
struct MessageNews: Sendable, Hashable {
  /// Which message of the verification, from 1.
  var number: Int
  var lane: String?
  /// The provider's own ID of the message.
  var reference: String?
  var reason: VerificationFailure?

  init(_ report: JobReport) {
    (number, lane, reference, reason) = (report.number, report.lane, report.reference, report.reason)
  }

  init(_ report: DeliveryReport) {
    (number, lane, reference, reason) = (report.number, report.lane, report.reference, report.reason)
  }
}

extension VerificationAction.Announcement {
  /// Whether it may be made once for each message.
  var isAboutMessage: Bool {
    switch self {
    case .sent, .delivered, .undelivered: true
    case .started, .approved, .failed, .expired, .canceled: false
    }
  }
}
