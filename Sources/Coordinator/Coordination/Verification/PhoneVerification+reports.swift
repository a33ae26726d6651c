import CountersignMessages
import CountersignTelemetry

// Reports on its SMS: of workers, then of providers.
extension PhoneVerification {
  mutating func finishMessage(_ report: JobReport, at now: UnixTime) -> [VerificationAction] {
    let index = report.number - 1
    guard messages.indices.contains(index), messages[index].takes(report.outcome) else { return [] }
    messages[index] = MessageProgress(report.outcome)
    note(report, at: now)
    // Events after the end appear in the timeline, without notifications or changes.
    guard state.isLive else { return [] }
    switch report.outcome {
    case .accepted:
      state = .sent
      let asker = asker(ofMessage: report.number)
      return isOpen(asker) ? [.announce(.sent, to: asker)] : []
    case .unknown:
      return []
    case .refused:
      return failUnlessOneMayArrive(report.reason ?? VerificationFailure(code: "REFUSED"), at: now)
    case .expired:
      return failUnlessOneMayArrive(report.reason ?? .notSentInTime, at: now)
    }
  }

  /// Shows a delay in the timeline, as long as the outcome of the SMS matters and is not known.
  mutating func noteDelay(_ report: DelayReport, at now: UnixTime) -> [VerificationAction] {
    guard state.isLive, let number = report.number, messages.indices.contains(number - 1),
      messages[number - 1] == .outstanding
    else { return [] }
    timeline.note(report, as: .smsDelayed, of: handles.askers[number], at: now)
    return []
  }

  private mutating func failUnlessOneMayArrive(
    _ reason: VerificationFailure, at now: UnixTime
  ) -> [VerificationAction] {
    guard !messages.contains(where: \.mayArrive) else { return [] }
    return fail(reason, at: now)
  }

  private mutating func note(_ report: JobReport, at now: UnixTime) {
    var entry = TimelineEntry(
      at: now, report, accepted: .smsAccepted, refused: .smsRefused, expired: .smsExpired, unknown: .smsUnknown)
    entry.job = report.number
    entry.segments = report.segments
    entry.handle = handles.askers[report.number]
    timeline.append(entry)
  }

  /// Such reports repeat and overtake each other: an SMS that arrived stays delivered. One without a worker's report
  /// proves that the SMS was accepted. It is announced even after the end of the verification: most codes are typed
  /// before the provider reports.
  mutating func finishDelivery(_ report: DeliveryReport, at now: UnixTime) -> [VerificationAction] {
    let index = report.number - 1
    guard messages.indices.contains(index), messages[index].mayBecome(delivered: report.isDelivered) else { return [] }
    var actions: [VerificationAction] = []
    if messages[index] == .outstanding, state == .sending {
      state = .sent
      actions.append(.announce(.sent, to: asker(ofMessage: report.number)))
    }
    messages[index] = report.isDelivered ? .delivered : .undelivered
    timeline.append(
      TimelineEntry(
        at: now, kind: report.isDelivered ? .smsDelivered : .smsUndelivered, job: report.number, lane: report.lane,
        reference: report.reference, reason: report.reason?.code, detail: report.reason?.detail,
        handle: handles.askers[report.number]))
    return actions + [
      .announce(report.isDelivered ? .delivered : .undelivered, to: asker(ofMessage: report.number))
    ]
  }
}

extension PhoneVerification.MessageProgress {
  fileprivate func mayBecome(delivered isDelivered: Bool) -> Bool {
    switch self {
    case .outstanding, .accepted, .unknown: true
    case .undelivered: isDelivered
    // An SMS that was never sent cannot arrive: a report on it is about something else.
    case .delivered, .refused, .expired: false
    }
  }
}

extension PhoneVerification.MessageProgress {
  /// A known outcome replaces an unknown one, never the reverse: workers of several hosts may have ledgers of their own,
  /// and one may report an unknown outcome for an SMS that another has sent.
  func takes(_ outcome: JobReport.Outcome) -> Bool {
    switch (self, outcome) {
    case (.outstanding, _), (.unknown, .accepted), (.unknown, .refused): true
    default: false
    }
  }

  init(_ outcome: JobReport.Outcome) {
    switch outcome {
    case .accepted: self = .accepted
    case .refused: self = .refused
    case .expired: self = .expired
    case .unknown: self = .unknown
    }
  }
}

struct JobReport: Sendable, Hashable {
  typealias Outcome = JobOutcome

  /// Number of the SMS within its verification, from 1.
  var number: Int
  var outcome: Outcome
  var lane: String?
  var worker: String?
  /// The provider's own ID of the SMS.
  var reference: String?
  var reason: VerificationFailure?
  var attempts: Int?
  var segments: Int?
}

struct DeliveryReport: Sendable, Hashable {
  /// Number of the SMS within its verification, from 1.
  var number: Int
  var isDelivered: Bool
  var lane: String?
  /// The provider's own ID of the SMS.
  var reference: String?
  var reason: VerificationFailure?
}
