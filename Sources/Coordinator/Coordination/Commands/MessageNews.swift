/// Report about one SMS, as far as events need it.
struct MessageNews: Sendable, Hashable {
  /// Number of the SMS within its verification, from 1.
  var number: Int
  var lane: String?
  /// The provider's own ID of the SMS.
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
  /// Whether the event may be made once for each SMS.
  var isAboutMessage: Bool {
    switch self {
    case .sent, .delivered, .undelivered: true
    case .started, .approved, .failed, .expired, .canceled: false
    }
  }
}
