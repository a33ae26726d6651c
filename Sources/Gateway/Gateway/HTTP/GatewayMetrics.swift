import CountersignTelemetry

/// Labels are names of routes and types, never input.
struct GatewayMetrics: Sendable {
  private let requests: MetricFamily<Counter>
  private let seconds: MetricFamily<Histogram>
  private let commands: MetricFamily<Counter>
  private let misconfigured: MetricFamily<Counter>
  let inFlight: MetricFamily<Gauge>
  let refused: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    requests = registry.counter(
      "countersign_gateway_requests_total", "Requests by call and HTTP status.", labels: ["call", "status"])
    seconds = registry.histogram(
      "countersign_gateway_request_seconds", "Time from a request to its answer, by call.", labels: ["call"])
    commands = registry.counter(
      "countersign_gateway_commands_total",
      "Commands by their outcome: answered, refused, timed_out, disconnected, unroutable, queue_full, unreadable, failed.",
      labels: ["type", "outcome"])
    misconfigured = registry.counter(
      "countersign_gateway_misconfigured_total",
      "Requests that failed because gateway and services are configured differently, by the reason.",
      labels: ["reason"])
    // A series that begins with 1 has not increased for Prometheus, so the alert would miss the first one.
    for reason in Misconfiguration.allCases { _ = misconfigured.with(reason.rawValue) }
    inFlight = registry.gauge(
      "countersign_gateway_requests_in_flight",
      "Requests that are being answered, by what they wait for: coordinator, providers, hashing, accounts, administrators, verifications, gateway (nothing).",
      labels: ["class"])
    refused = registry.counter(
      "countersign_gateway_requests_refused_total",
      "Requests that were answered 503 at once, since all places of their class were taken.", labels: ["class"])
    for callClass in CallClass.allCases {
      _ = inFlight.with(callClass.rawValue)
      _ = refused.with(callClass.rawValue)
    }
  }

  /// Makes the series of failures of a call, the first of which an alert must see.
  func begin(_ call: String) {
    for status in ["500", "503"] { _ = requests.with(call, status) }
  }

  func countRequest(_ call: String, status: Int, _ time: Duration) {
    requests.with(call, String(status)).increment()
    seconds.with(call).observe(time.fractionalSeconds)
  }

  func countCommand(_ type: String, _ outcome: String) { commands.with(type, outcome).increment() }

  func countMisconfigured(_ reason: String) { misconfigured.with(reason).increment() }
}
