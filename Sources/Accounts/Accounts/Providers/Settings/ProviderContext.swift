import CountersignTelemetry
import Synchronization

/// Parts that the providers of a process share.
struct ProviderContext: Sendable {
  let network: ProviderNetwork
  let clock: any MonotonicClock
  let log: Logger
  let metrics: ProviderMetrics
  var secrets = ProviderSecrets()
  /// Seals what is kept of a sign-in. `nil` where nothing is.
  var grants: GrantSealer?
  let places = ProviderPlaces()
  let refusals = RefusalTimes()
  /// Whether credentials of test suites are taken, for projects that have `emulatorTokens`.
  var isDevelopment = false
}

/// Questions that wait for each provider: by its ID, or its issuer where projects have their own.
final class ProviderPlaces: Sendable {
  private let taken = Mutex<[String: Int]>([:])

  func take(of provider: String) -> Bool {
    taken.withLock { taken in
      guard taken[provider, default: 0] < ProfileFetch.maxAtOnce else { return false }
      taken[provider, default: 0] += 1
      return true
    }
  }

  func giveBack(of provider: String) {
    taken.withLock { taken in
      let left = taken[provider, default: 1] - 1
      taken[provider] = left > 0 ? left : nil
    }
  }
}

struct ProviderMetrics: Sendable {
  /// Label of the providers of projects: there may be any number.
  static let openID = "oidc"

  let keyFetches: MetricFamily<Counter>
  let profileFetches: MetricFamily<Counter>
  let discoveries: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    keyFetches = registry.counter(
      "countersign_provider_key_fetches_total",
      "Fetches of the keys of identity providers: ok, unreachable, status (another than 200), unreadable.",
      labels: ["provider", "outcome"])
    profileFetches = registry.counter(
      "countersign_provider_profile_fetches_total",
      "Questions to identity providers about codes and access tokens: ok, refused, unreachable, status, unreadable, full.",
      labels: ["provider", "outcome"])
    discoveries = registry.counter(
      "countersign_provider_discoveries_total",
      "Fetches of the documents of OpenID Connect issuers: ok, unreachable, status (another than 200), unreadable.",
      labels: ["outcome"])
    // The keys of projects' own providers are fetched when they are needed first.
    beginKeyFetches(of: Self.openID)
  }

  /// An alert must see the first.
  func beginKeyFetches(of label: String) {
    for outcome in ["ok", "unreachable", "status", "unreadable"] { _ = keyFetches.with(label, outcome) }
  }
}
