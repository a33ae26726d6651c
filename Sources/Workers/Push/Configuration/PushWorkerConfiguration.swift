import CountersignTelemetry
public import JobEngine
public import ServiceRuntime

/// What a `push-worker` is configured with. `Config/push-worker.json5` explains every key.
public struct PushWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  let memory: MemorySettings
  let tables: ProviderTables
  /// At which age a provider token is renewed.
  let tokenLife: Duration
  let lanes: [LaneSettings]
  let apps: [AppSettings]

  /// The most lanes, and the most apps, of one worker.
  static let maxLanes = 32
  static let maxApps = 1000

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8082)
    WorkerSettings.checkKeys(common, section)
    worker = WorkerSettings(section, ledgerPath: "push-ledger.sqlite")
    memory = MemorySettings(section.section("memory"))
    tables = ProviderTables(section)
    tokenLife = .seconds(
      60
        * section.integer(
          "providerTokenMinutes", default: 50, in: 20...59,
          "The age at which a provider token is renewed; Apple wants it between 20 and 60 minutes."))
    lanes = Self.lanes(section)
    apps = Self.apps(section, lanes)
    worker.checkPrefetch(for: lanes.map(\.lane), section)
  }

  private static func lanes(_ section: ConfigurationSection) -> [LaneSettings] {
    let sections = section.sections("lanes", "The ways to Apple's push services and to reCAPTCHA.")
    section.check(
      "lanes", !sections.isEmpty, "is empty: configure at least one lane, as Config/push-worker.json5 shows")
    section.check("lanes", sections.count <= maxLanes, "has more than \(maxLanes) entries")
    var names: [String: Int] = [:]
    var environments: [APNsEnvironment: Int] = [:]
    return sections.enumerated().map { index, entry in
      let lane = LaneSettings(entry)
      if let owner = names.updateValue(index, forKey: lane.lane.name), !lane.lane.name.isEmpty {
        entry.problem("name", "is the name of lanes.\(owner) too: give each lane its own")
      }
      if case .apns(let apns) = lane.provider,
        let owner = environments.updateValue(index, forKey: apns.environment)
      {
        entry.problem("environment", "is the environment of lanes.\(owner) too: keep one lane for each")
      }
      return lane
    }
  }

  private static func apps(_ section: ConfigurationSection, _ lanes: [LaneSettings]) -> [AppSettings] {
    let sections = section.namedSections(
      "apps", "The apps by bundle ID: how each is pushed to, and how its tokens are assessed.")
    section.check("apps", !sections.isEmpty, "is empty: configure at least one app, as Config/push-worker.json5 shows")
    section.check("apps", sections.count <= maxApps, "has more than \(maxApps) entries")
    let apps = sections.map { AppSettings(bundleID: $0.name, $0.section, lanes: lanes) }
    checkKeys(apps, sections.map(\.section))
    return apps
  }

  /// Apps may share a key; then it has to be the same one.
  private static func checkKeys(_ apps: [AppSettings], _ sections: [ConfigurationSection]) {
    var texts: [String: String] = [:]
    for (app, section) in zip(apps, sections) {
      guard case .key(let key)? = app.push?.credential else { continue }
      let text = key.text.reveal()
      let known = texts.updateValue(text, forKey: "\(key.teamID).\(key.keyID)")
      section.check("push", known == nil || known == text, "names the key of another app and has another file of it")
    }
  }
}
