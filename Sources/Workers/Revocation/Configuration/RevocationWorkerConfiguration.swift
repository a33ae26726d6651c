import CountersignCryptography
public import JobEngine
public import ServiceRuntime

/// What a `revocation-worker` is configured with. `Config/revocation-worker.json5` explains every key.
public struct RevocationWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  /// How long a token is revoked that a code was exchanged for, whatever the job's own deadline.
  public let persistence: Duration
  /// The clients of Sign in with Apple.
  public let lanes: [AppleLaneSettings]
  /// What Apple's answers mean.
  let table: ProviderTable

  /// The most lanes of one worker; each has connections and metrics of its own.
  static let maxLanes = 64

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8083)
    worker = WorkerSettings(section, ledgerPath: "revocation-ledger.sqlite")
    persistence = .seconds(
      3600
        * section.integer(
          "persistenceHours", default: 24, in: 1...720,
          "How long a token is revoked that a code was exchanged for, when the job's deadline is earlier."))
    table = Self.table(section)
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
        "is none: a worker that dies between Apple's answer and the broker's confirmation loses the token")
    }
  }

  private static func table(_ section: ConfigurationSection) -> ProviderTable {
    let directory = section.path("providersDirectory", default: "providers", "The directory with apple.json5.")
    do {
      return try ProviderTable(file: "\(directory)/apple.json5")
    } catch {
      section.problem("providersDirectory", error.message)
      return ProviderTable()
    }
  }

  private static func lanes(_ section: ConfigurationSection) -> [AppleLaneSettings] {
    let sections = section.sections("lanes", "The clients of Sign in with Apple: one lane each.")
    section.check(
      "lanes", !sections.isEmpty, "is empty: configure at least one lane, as Config/revocation-worker.json5 shows")
    section.check("lanes", sections.count <= maxLanes, "has more than \(maxLanes) entries")
    var names: Set<String> = []
    var clients: Set<RevocationJobHandler.Client> = []
    return sections.map { entry in
      let settings = AppleLaneSettings(entry)
      if !names.insert(settings.lane.name).inserted, !settings.lane.name.isEmpty {
        entry.problem("name", "is the name of another lane too: give each its own")
      }
      for app in settings.apps where !clients.insert(.init(app: app, clientID: settings.clientID)).inserted {
        entry.problem("apps", "has an app that another lane serves for this client too")
      }
      return settings
    }
  }
}
