import CommandEngine
import CountersignTelemetry
import Synchronization

final class WebhookMetrics: Sendable {
  /// Reasons to drop an event undelivered.
  enum Drop: String, CaseIterable {
    /// It has waited for three days.
    case age
    /// Newer ones needed the room.
    case full
  }

  let queued: Counter
  private let attempts: MetricFamily<Counter>
  private let seconds: Histogram
  private let dropped: MetricFamily<Counter>
  private let waiting: MetricFamily<Gauge>
  private let isOff: MetricFamily<Gauge>
  private let failing: MetricFamily<Gauge>
  private let lagSeconds: Gauge
  /// IDs of the webhooks whose gauges were set last.
  private let known = Mutex<Set<String>>([])

  init(_ registry: MetricsRegistry) {
    queued = registry.counter(
      "countersign_webhook_events_total", "Events that were stored for a webhook, one for each webhook.")
    attempts = registry.counter(
      "countersign_webhook_attempts_total", "Requests to webhooks, by their outcome.", labels: ["outcome"])
    seconds = registry.histogram("countersign_webhook_request_seconds", "Time of requests to webhooks.")
    dropped = registry.counter(
      "countersign_webhook_dropped_total",
      "Events that were given up undelivered: after three days (age), or because more waited than are kept (full).",
      labels: ["webhook", "reason"])
    waiting = registry.gauge(
      "countersign_webhook_waiting", "Events that wait for their delivery.", labels: ["webhook"])
    isOff = registry.gauge(
      "countersign_webhook_off", "Whether a webhook is switched off, because of its server: 1, or 0.",
      labels: ["webhook"])
    failing = registry.gauge(
      "countersign_webhook_failing_seconds", "Time since the first failure after the last success: 0 after a success.",
      labels: ["webhook"])
    lagSeconds = registry.gauge(
      "countersign_webhook_lag_seconds", "Age of the latest event when it was taken from the broker.")
    for outcome in Outcome.labels { _ = attempts.with(outcome) }
  }

  func count(_ outcome: Outcome, took time: Duration) {
    attempts.with(outcome.label).increment()
    seconds.observe(time)
  }

  func drop(_ count: Int, _ reason: Drop, of webhook: Webhook) {
    if count > 0 { dropped.with(webhook.id.text, reason.rawValue).increment(by: UInt64(count)) }
  }

  func lag(_ time: Duration) { lagSeconds.set(max(0, Self.seconds(time))) }

  /// Sets the gauges of all webhooks; those of removed ones become 0.
  func set(_ webhooks: [(Webhook, waiting: Int)], at now: UnixTime) {
    let ids = Set(webhooks.map(\.0.id.text))
    let removed = known.withLock { known in
      defer { known = ids }
      return known.subtracting(ids)
    }
    for id in removed {
      for gauge in [waiting, isOff, failing] { gauge.with(id).set(0) }
    }
    for (webhook, count) in webhooks {
      let id = webhook.id.text
      for reason in Drop.allCases { _ = dropped.with(id, reason.rawValue) }
      waiting.with(id).set(Double(count))
      isOff.with(id).set(webhook.state == .enabled ? 0 : 1)
      failing.with(id).set(webhook.failingSince.map { max(0, Self.seconds(now - $0)) } ?? 0)
    }
  }

  private static func seconds(_ time: Duration) -> Double { Double(time.wholeMilliseconds) / 1000 }
}
