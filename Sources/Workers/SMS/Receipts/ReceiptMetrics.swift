import CountersignMessages
import CountersignTelemetry

/// Counts providers' reports.
struct ReceiptMetrics: Sendable {
  private let receipts: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    receipts = registry.counter(
      "countersign_sms_receipts_total",
      "Delivery reports of providers: delivered, undelivered, progress, forged, stale, malformed, unknown_lane, unpublished (it comes again).",
      labels: ["lane", "kind"])
  }

  func taken(_ delivery: SMSDeliveryReport) { receipts.with(delivery.lane, delivery.state.rawValue).increment() }
  func progress(lane: String) { receipts.with(lane, "progress").increment() }
  func lost(lane: String) { receipts.with(lane, "unpublished").increment() }
  /// Names that nobody configured are not labels: anybody may ask for any.
  func refused(_ refusal: ReceiptRefusal, lane: String?) {
    receipts.with(lane ?? "other", refusal.rawValue).increment()
  }
}
