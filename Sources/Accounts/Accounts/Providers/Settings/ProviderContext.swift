import CountersignTelemetry

/// Parts that the providers of a process share.
struct ProviderContext: Sendable {
  let network: ProviderNetwork
  let clock: any MonotonicClock
  let log: Logger
  let metrics: ProviderMetrics
  var secrets = ProviderSecrets()
  /// Whether credentials of test suites are taken, for projects that have `emulatorTokens`.
  var isDevelopment = false
}

struct ProviderMetrics: Sendable {
  let keyFetches: MetricFamily<Counter>
  let profileFetches: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    keyFetches = registry.counter(
      "countersign_provider_key_fetches_total",
      "Fetches of the keys of identity providers: ok, unreachable, status (another than 200), unreadable.",
      labels: ["provider", "outcome"])
    profileFetches = registry.counter(
      "countersign_provider_profile_fetches_total",
      "Questions to identity providers about access tokens: ok, refused, unreachable, status, unreadable.",
      labels: ["provider", "outcome"])
  }
}
