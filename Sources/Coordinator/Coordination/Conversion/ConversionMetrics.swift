import CountersignTelemetry

/// Metrics of the conversion. Regions are a label, being few; prefixes are not.
struct ConversionMetrics: Sendable {
  /// The series of one region.
  struct Region: Sendable {
    let sent: Counter
    let verified: Counter
  }

  let blocks: MetricFamily<Gauge>
  let blocked: MetricFamily<Counter>
  private let sent: MetricFamily<Counter>
  private let verified: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    sent = registry.counter(
      "countersign_conversion_sent_total", "Verifications that ended after a message was sent, by region.",
      labels: ["region"])
    verified = registry.counter(
      "countersign_conversion_verified_total", "Those among them whose code came back, by region.", labels: ["region"])
    blocks = registry.gauge(
      "countersign_conversion_blocks", "Prefixes and regions that nothing is sent to, because too few codes came back.",
      labels: ["scope"])
    blocked = registry.counter(
      "countersign_conversion_blocked_total", "Prefixes and regions that were blocked.", labels: ["scope"])
  }

  /// - Parameter series: the series known so far; asking the family for each verification would be slower.
  func count(_ ending: ConversionEnding, _ series: inout [String: Region]) {
    let known: Region
    if let found = series[ending.region] {
      known = found
    } else {
      known = Region(sent: sent.with(ending.region), verified: verified.with(ending.region))
      if series.count < MetricsRegistry.maxSeries { series[ending.region] = known }
    }
    known.sent.increment()
    if ending.outcome == .verified { known.verified.increment() }
  }
}
