import CountersignTelemetry

extension TimelineEntry {
  init(at: UnixTime, kind: Kind, reason: String?, detail: String? = nil) {
    self.init(at: at, kind: kind)
    self.reason = reason
    self.detail = detail
  }

  /// A worker's report, under the kind that belongs to its outcome.
  init(at: UnixTime, _ report: JobReport, accepted: Kind, refused: Kind, expired: Kind, unknown: Kind) {
    let kind =
      switch report.outcome {
      case .accepted: accepted
      case .refused: refused
      case .expired: expired
      case .unknown: unknown
      }
    // Only SMS are numbered: there is one job of every other kind.
    self.init(at: at, kind: kind)
    lane = report.lane
    worker = report.worker
    reference = report.reference
    reason = report.reason?.code
    detail = report.reason?.detail
    attempts = report.attempts
  }
}
