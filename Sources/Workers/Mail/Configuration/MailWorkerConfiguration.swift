public import JobEngine
public import ServiceRuntime

/// Configuration of a `mail-worker`. `Config/mail-worker.json5` explains every key.
public struct MailWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  /// Minimum time until the deadline. With less, nothing is sent.
  public let minValidity: Duration
  /// Templates of the texts.
  public let templates: MailTemplateSettings
  /// The place of the suppression list.
  public let suppressions: TableSettings
  /// Requirements of Apple's relay.
  public let relay: RelayRules
  /// Senders. The first one is for jobs that name none.
  public let senders: [SenderSettings]
  /// Lanes in the order in which they are tried.
  let lanes: [LaneSettings<SMTPProvider>]
  /// `nil` for a table with a problem, which was reported.
  let table: ReplyTable?

  /// Each has connections and metrics of its own.
  static let maxLanes = 16

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8084)
    WorkerSettings.checkKeys(common, section)
    worker = WorkerSettings(section, ledgerPath: "mail-ledger.sqlite")
    minValidity = section.seconds(
      "minimumValiditySeconds", default: .seconds(10), in: .seconds(1) ... .seconds(3600),
      "With less time left until the deadline nothing is sent.")
    templates = MailTemplateSettings(section.section("templates"))
    suppressions = TableSettings(
      section.section("suppressions"), "suppressions", ledger: worker.ledger, path: "mail-suppressions.sqlite",
      "The file of the addresses that get no mail.")
    // A `mail.forget` comes to one worker.
    let hasOtherHosts = worker.consumers == .severalHosts || worker.ledger.postgresql != nil
    section.check(
      "suppressions.type", !hasOtherHosts || !suppressions.parts.isEmpty,
      "is sqlite, a list of each host: the address of a deleted account would be forgotten on one of them only. With ledger.type postgresql leave it out, and 'countersign mail suppressions copy' brings the file's addresses. With another one use one host, and queue.consumers oneHost"
    )
    relay = RelayRules(section.section("relay"))
    senders = Self.senders(section)
    table = Self.table(section)
    lanes = Self.lanes(section)
    worker.checkPrefetch(for: lanes.map(\.lane), section)
    for (index, sender) in senders.enumerated() { sender.warn(of: relay, section, "senders.\(index)") }
  }

  private static func senders(_ section: ConfigurationSection) -> [SenderSettings] {
    let sections = section.sections("senders", "The senders; the first one is for jobs that name none.")
    section.check("senders", !sections.isEmpty, "is empty: configure at least one, as Config/mail-worker.json5 shows")
    return sections.map(SenderSettings.init)
  }

  private static func table(_ section: ConfigurationSection) -> ReplyTable? {
    let directory = ProviderTables.directory(section, files: [ReplyTable.file])
    return section.read("providersDirectory", try ReplyTable(file: "\(directory)/\(ReplyTable.file)"))
  }

  private static func lanes(_ section: ConfigurationSection) -> [LaneSettings<SMTPProvider>] {
    LaneSettings.read(
      section, "The lanes in the order in which they are tried.", most: maxLanes, shownIn: "Config/mail-worker.json5",
      providers: [SMTPProvider.self]
    ) { entry in
      LaneConfiguration(
        entry, concurrency: 16, in: SMTPProvider.connections, timeout: .seconds(600), longestTimeout: .seconds(1200))
    }.map(\.settings)
  }
}

/// Section `templates`.
public struct MailTemplateSettings: Sendable {
  /// App name for jobs without one.
  public let appName: String?
  /// Content of the files. `nil` for one with a problem, which was reported.
  public let templates: MailTemplates?

  init(_ section: ConfigurationSection) {
    let directory = section.path(
      "directory", default: "templates/mail",
      "The directory with a <language>.json for each language, and layout.html.")
    let language = section.string(
      "defaultLanguage", default: "en", "The language for recipients whose own has no file.")
    appName = section.optionalString("appName", "The app name for jobs without variables.appName.")
    if let appName, let problem = MailVariables.appName(appName) { section.problem("appName", problem) }
    templates = section.read("directory", try MailTemplates(directory: directory, defaultLanguage: language))
  }
}
