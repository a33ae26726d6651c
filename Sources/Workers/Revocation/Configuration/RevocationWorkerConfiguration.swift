import CountersignCryptography
public import JobEngine
public import ServiceRuntime

/// Configuration of a `revocation-worker`. `Config/revocation-worker.json5` explains every key.
public struct RevocationWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  /// Time for which the token of an exchanged code is revoked, if the job's own deadline is earlier.
  public let persistence: Duration
  let lanes: [LaneSettings<AppleProvider>]
  let tables: ProviderTables

  /// Each has connections and metrics of its own.
  static let maxLanes = 64

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8083)
    worker = WorkerSettings(section, ledgerPath: "revocation-ledger.sqlite")
    persistence = .seconds(
      3600
        * section.integer(
          "persistenceHours", default: 24, in: 1...720,
          "How long the token of an exchanged code is still revoked after an earlier deadline of the job."))
    tables = ProviderTables(section, AppleProvider.tables)
    lanes = Self.lanes(section)
    worker.checkPrefetch(for: lanes.map(\.lane), section)
    if common.keys?.sealing == nil {
      section.problem(
        "keysFile",
        "is missing: the token that a code is exchanged for has to be sealed; make keys with: countersign keys generate"
      )
    }
    if worker.ledger.kind == .none {
      section.warning(
        "ledger.type",
        "is none: a worker that crashes between Apple's answer and the broker's confirmation loses the token")
    }
  }

  private static func lanes(_ section: ConfigurationSection) -> [LaneSettings<AppleProvider>] {
    let lanes = LaneSettings<AppleProvider>.read(
      section, "The clients of Sign in with Apple: one lane each.", most: maxLanes,
      shownIn: "Config/revocation-worker.json5", providers: [AppleProvider.self])
    var clients: Set<RevocationClient> = []
    for (settings, entry) in lanes {
      for client in settings.provider?.clients ?? [] where !clients.insert(client).inserted {
        entry.problem("apps", "has an app that another lane serves for this client too")
      }
    }
    return lanes.map(\.settings)
  }
}
