import CountersignTelemetry
import ServiceRuntime

extension SigningKeys {
  static let hint =
    "give all processes of accounts the same tokenKeysFile, with the key that it was sealed under among its keys"

  var health: HealthState {
    if isReady { return .ok }
    if isOld {
      return .failing(
        "the keys that sign ID tokens were not read for too long", hint: "the log says why; restart this process")
    }
    guard let problem = reading.unreadable.first?.problem else {
      return .failing("no key signs ID tokens yet", hint: nil)
    }
    return .failing("no key that signs ID tokens can be opened: \(problem)", hint: Self.hint)
  }

  func start(of id: String?) -> UnixTime? { reading.entries.first { $0.id == id }?.record.signsFrom }
}

struct SigningKeyMetrics: Sendable {
  private let published: Gauge
  private let unreadable: Gauge
  private let age: Gauge

  init(_ registry: MetricsRegistry) {
    published = registry.gauge("countersign_signing_keys", "Keys for ID tokens that are published.")
    unreadable = registry.gauge(
      "countersign_signing_keys_unreadable", "Keys for ID tokens in the database that cannot be opened.")
    age = registry.gauge("countersign_signing_key_age_seconds", "Time since the key that signs has begun to.")
  }

  func set(_ reading: SigningKeys.Reading, signing since: UnixTime?, at now: UnixTime) {
    published.set(Double(reading.entries.count))
    unreadable.set(Double(reading.unreadable.count))
    age.set(since.map { max(0, (now - $0) / .seconds(1)) } ?? 0)
  }
}
