import CountersignTelemetry

extension PhoneVerification {
  /// Takes what a provider reports of a message that it took.
  ///
  /// Such reports repeat, overtake each other and overtake the worker's own. The order `undelivered`, `delivered` decides: a
  /// message that arrived cannot un-arrive. A report on a message that the worker has not reported on proves that it was taken.
  /// It is told of also after the end of the verification, because it is about the message: most codes are typed in before
  /// the provider reports.
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
  /// Whether a provider's report is news.
  fileprivate func mayBecome(delivered isDelivered: Bool) -> Bool {
    switch self {
    case .outstanding, .accepted, .unknown: true
    case .undelivered: isDelivered
    // What was never sent cannot arrive: a report on it is about something else.
    case .delivered, .refused, .expired: false
    }
  }
}
