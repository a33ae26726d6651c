import CountersignTelemetry

/// Metrics that a mail-worker keeps beside its jobs.
struct MailMetrics: Sendable {
  private let downgraded: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    downgraded = registry.counter(
      "countersign_mail_replies_downgraded_total",
      "Replies that blame this sender, from servers whose word takes no lane down: the recipient's own may have said it.",
      labels: ["lane", "reason"])
  }

  /// - Parameter reason: A reason of the table, never a server's words: there are as many as the file has.
  func downgraded(lane: String, reason: String) { downgraded.with(lane, reason).increment() }
}
