import CountersignTelemetry
public import JobEngine
public import ServiceRuntime

/// Configuration of a `push-worker`. `Config/push-worker.json5` explains every key.
public struct PushWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  let memory: PushMemorySettings
  let tables: ProviderTables
  let providers: [any PushProvider.Type]
  /// Age at which a provider token is renewed.
  let tokenLife: Duration
  let lanes: [PushLaneSettings]
  let apps: [AppSettings]

  static let maxLanes = 32
  static let maxApps = 1000

  public init(_ section: ConfigurationSection) { self.init(section, providers: PushProviders.all) }

  init(_ section: ConfigurationSection, providers: [any PushProvider.Type]) {
    self.providers = providers
    common = CommonConfiguration(section, defaultHTTPPort: 8082)
    WorkerSettings.checkKeys(common, section)
    worker = WorkerSettings(section, ledgerPath: "push-ledger.sqlite")
    memory = PushMemorySettings(section.section("memory"), ledger: worker.ledger)
    tables = ProviderTables(section, providers.flatMap { $0.tables })
    tokenLife = .seconds(
      60
        * section.integer(
          "providerTokenMinutes", default: 50, in: 20...59,
          "The age at which a provider token is renewed; Apple requires 20 to 60 minutes."))
    lanes = Self.lanes(section, providers)
    apps = Self.apps(section, lanes, providers)
    worker.checkPrefetch(for: lanes.map(\.lane), section)
  }

  private static func lanes(
    _ section: ConfigurationSection, _ providers: [any PushProvider.Type]
  ) -> [PushLaneSettings] {
    let lanes = PushLaneSettings.read(
      section, "The lanes to Apple's push services and to reCAPTCHA.", most: maxLanes,
      shownIn: "Config/push-worker.json5", providers: providers)
    var owners: [String: Int] = [:]
    for (index, (settings, entry)) in lanes.enumerated() {
      guard let (key, value) = settings.provider?.uniqueKey else { continue }
      if let owner = owners.updateValue(index, forKey: "\(key) \(value)") {
        entry.problem(key, "is the \(key) of lanes.\(owner) too: keep one lane for each")
      }
    }
    return lanes.map(\.settings)
  }

  private static func apps(
    _ section: ConfigurationSection, _ lanes: [PushLaneSettings], _ providers: [any PushProvider.Type]
  ) -> [AppSettings] {
    let sections = section.namedSections(
      "apps", "The apps by bundle ID, with the keys for pushes and for assessments.")
    section.check("apps", !sections.isEmpty, "is empty: configure at least one app, as Config/push-worker.json5 shows")
    section.check("apps", sections.count <= maxApps, "has more than \(maxApps) entries")
    let apps = sections.map { AppSettings(bundleID: $0.name, $0.section, lanes: lanes, providers: providers) }
    checkKeys(apps, sections.map(\.section))
    return apps
  }

  /// Checks that apps with the same key have the same file of it.
  private static func checkKeys(_ apps: [AppSettings], _ sections: [ConfigurationSection]) {
    var texts: [String: String] = [:]
    for (app, section) in zip(apps, sections) {
      guard case .key(let key)? = app.push?.credential else { continue }
      let text = key.text.reveal()
      let known = texts.updateValue(text, forKey: "\(key.teamID).\(key.keyID)")
      section.check("push", known == nil || known == text, "names a key that another app reads from another file")
    }
  }
}

struct PushMemorySettings: Sendable, Hashable {
  let table: TableSettings
  let environmentLife: Duration

  init(_ section: ConfigurationSection, ledger: LedgerSettings) {
    table = TableSettings(
      section, "memory", ledger: ledger, path: "push-memory.sqlite",
      "The file, which all push-workers of this host share.")
    environmentLife = .seconds(
      24 * 3600
        * section.integer(
          "environmentDays", default: 180, in: 1...3650,
          "How long the environment of a device token is remembered, for apps that do not state it."))
  }
}
