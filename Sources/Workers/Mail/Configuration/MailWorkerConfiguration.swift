public import JobEngine
public import ServiceRuntime

/// What a `mail-worker` is configured with. `Config/mail-worker.json5` explains every key.
public struct MailWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  /// With less time than this until the deadline nothing is sent.
  public let minimumValidity: Duration
  /// Where the texts are.
  public let templates: MailTemplateSettings
  /// The file of the suppression list.
  public let suppressionsPath: String
  /// What Apple's relay asks for.
  public let relay: RelayRules
  /// Who mail is from; the first one is everybody's who names none.
  public let senders: [SenderSettings]
  /// The ways out, in the order in which they are tried.
  public let lanes: [MailLaneSettings]
  /// What servers' replies mean; nil when the file is wrong, which is reported.
  let table: ReplyTable?

  /// The most lanes of one worker; each has connections and metrics of its own.
  static let maxLanes = 16

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8084)
    WorkerSettings.checkKeys(common, section)
    worker = WorkerSettings(section, ledgerPath: "mail-ledger.sqlite")
    minimumValidity = section.seconds(
      "minimumValiditySeconds", default: .seconds(10), in: .seconds(1) ... .seconds(3600),
      "With less time left until the deadline nothing is sent.")
    templates = MailTemplateSettings(section.section("templates"))
    suppressionsPath = section.section("suppressions").path(
      "path", default: "mail-suppressions.sqlite", "The file of the addresses that nothing is sent to any more.")
    relay = RelayRules(section.section("relay"))
    senders = Self.senders(section)
    table = Self.table(section)
    lanes = Self.lanes(section)
    worker.checkPrefetch(for: lanes.map(\.lane), section)
    for (index, sender) in senders.enumerated() { sender.warn(of: relay, section, "senders.\(index)") }
  }

  private static func senders(_ section: ConfigurationSection) -> [SenderSettings] {
    let sections = section.sections("senders", "Who mail is from; the first one is for jobs that name none.")
    section.check("senders", !sections.isEmpty, "is empty: configure at least one, as Config/mail-worker.json5 shows")
    return sections.map(SenderSettings.init)
  }

  private static func lanes(_ section: ConfigurationSection) -> [MailLaneSettings] {
    let sections = section.sections("lanes", "The ways out, in the order in which they are tried.")
    section.check(
      "lanes", !sections.isEmpty, "is empty: configure at least one lane, as Config/mail-worker.json5 shows")
    section.check("lanes", sections.count <= maxLanes, "has more than \(maxLanes) entries")
    var names: Set<String> = []
    return sections.map { entry in
      let lane = MailLaneSettings(entry)
      entry.check(
        "name", lane.lane.name.isEmpty || names.insert(lane.lane.name).inserted, "is the name of another lane too")
      return lane
    }
  }

  /// Read with the configuration, so that `--check` finds what is wrong with it.
  private static func table(_ section: ConfigurationSection) -> ReplyTable? {
    let directory = section.path("providersDirectory", default: "providers", "The directory with smtp.json5.")
    do {
      return try ReplyTable(file: "\(directory)/smtp.json5")
    } catch {
      section.problem("providersDirectory", error.message)
      return nil
    }
  }
}
