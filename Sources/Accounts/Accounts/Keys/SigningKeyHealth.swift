import CountersignTelemetry
import ServiceRuntime

extension SigningKeys {
  static let hint =
    "give all processes of accounts the same tokenKeysFile, with the key that it was sealed under among its keys"

  var health: HealthState {
    let isUnused = purpose == .cookies && reading.entries.isEmpty && reading.unreadable.isEmpty
    if isReady || isUnused { return .ok }
    if isOld {
      return .failing(
        "the keys that sign \(purpose.signs) were not read for too long",
        hint: "the log says why; restart this process")
    }
    guard let problem = reading.unreadable.first?.problem else {
      return .failing("no key signs \(purpose.signs) yet", hint: nil)
    }
    return .failing("no key that signs \(purpose.signs) can be opened: \(problem)", hint: Self.hint)
  }

  func start(of id: String?) -> UnixTime? { reading.entries.first { $0.id == id }?.record.signsFrom }
}

struct SigningKeyMetrics: Sendable {
  private let published: Gauge
  private let unreadable: Gauge
  private let age: Gauge

  init(_ registry: MetricsRegistry, _ purpose: SigningKeyPurpose) {
    published = registry.gauge("countersign_signing_keys", "Signing keys that are published.", labels: ["purpose"])
      .with(purpose.label)
    unreadable = registry.gauge(
      "countersign_signing_keys_unreadable", "Signing keys in the database that cannot be opened.",
      labels: ["purpose"]
    ).with(purpose.label)
    age = registry.gauge(
      "countersign_signing_key_age_seconds", "Time since the key that signs has begun to.", labels: ["purpose"]
    ).with(purpose.label)
  }

  func set(_ reading: SigningKeys.Reading, signing since: UnixTime?, at now: UnixTime) {
    published.set(Double(reading.entries.count))
    unreadable.set(Double(reading.unreadable.count))
    age.set(since.map { max(0, (now - $0) / .seconds(1)) } ?? 0)
  }
}
