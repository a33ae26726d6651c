import CountersignTelemetry

extension PhoneVerification {
  /// Applies a provider's delivery report on an SMS that it accepted.
  ///
  /// Such reports repeat, overtake each other and overtake the worker's own. The order `undelivered`, `delivered`
  /// decides: an SMS that arrived stays delivered. A report on an SMS without a worker's report proves that it was
  /// accepted. It is announced even after the end of the verification, because it is about the SMS: most codes are
  /// typed in before the provider reports.
  mutating func finishDelivery(_ report: DeliveryReport, at now: UnixTime) -> [VerificationAction] {
    let index = report.number - 1
    guard messages.indices.contains(index), messages[index].mayBecome(delivered: report.isDelivered) else { return [] }
    var actions: [VerificationAction] = []
    if messages[index] == .outstanding, state == .sending {
      state = .sent
      actions.append(.announce(.sent, to: asker(ofMessage: report.number)))
    }
    messages[index] = report.isDelivered ? .delivered : .undelivered
    timeline.append(entry(report, at: now))
    return actions + [
      .announce(report.isDelivered ? .delivered : .undelivered, to: asker(ofMessage: report.number))
    ]
  }

  private func entry(_ report: DeliveryReport, at now: UnixTime) -> TimelineEntry {
    var entry = TimelineEntry(at: now, kind: report.isDelivered ? .smsDelivered : .smsUndelivered, job: report.number)
    entry.lane = report.lane
    entry.reference = report.reference
    entry.reason = report.reason?.code
    entry.detail = report.reason?.detail
    entry.handle = handles.askers[report.number]
    return entry
  }
}

extension PhoneVerification.MessageProgress {
  /// Whether a provider's report is new.
  fileprivate func mayBecome(delivered isDelivered: Bool) -> Bool {
    switch self {
    case .outstanding, .accepted, .unknown: true
    case .undelivered: isDelivered
    // An SMS that was never sent cannot arrive: a report on it is about something else.
    case .delivered, .refused, .expired: false
    }
  }
}
