import JobEngine
import NumberRules
import PhoneNumbers
import ServiceRuntime

/// Configuration of an `sms-worker`. `Config/sms-worker.json5` explains every key.
struct SMSWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  let worker: WorkerSettings
  /// Texts of the messages.
  let templates: TemplateSettings
  /// Limits of one message.
  let limits: SMSLimits
  /// Rules for the numbers that get messages.
  let recipients: RecipientRules
  /// Minimum time until the deadline. With less nothing is sent, because it would arrive too late.
  let minValidity: Duration
  let tables: ProviderTables
  let reports: ReportSettings
  /// `nil` if no lane has `transliterate`, or if the table has a problem, which is reported.
  let transliteration: Transliteration?
  /// Share of messages that can wait. `nil` if the worker takes none.
  let bulk: BulkSettings?
  /// Lanes in the order in which they are tried.
  let lanes: [SMSLaneSettings]

  /// Names of the lanes whose delivery reports name a message by the provider's own ID alone.
  var lanesMatchedByReference: Set<String> {
    Set(lanes.filter { $0.provider?.reportsOnItsOwnConnection == true }.map(\.lane.name))
  }

  /// Each has connections and metrics of its own.
  static let maxLanes = 32

  init(_ section: ConfigurationSection) { self.init(section, providers: SMSProviders.all) }

  /// - Parameters:
  ///   - section: top of the configuration.
  ///   - providers: registry of the providers that lanes can be configured for.
  init(_ section: ConfigurationSection, providers: [any SMSProvider.Type]) {
    common = CommonConfiguration(section, defaultHTTPPort: 8081)
    WorkerSettings.checkKeys(common, section)
    worker = WorkerSettings(section, ledgerPath: "sms-ledger.sqlite")
    templates = TemplateSettings(section.section("templates"))
    let bounds = section.section("limits")
    limits = SMSLimits(
      maxTextLength: bounds.integer(
        "maxTextLength", default: SMSLimits.maxTextLengthOfProviders, in: 1...SMSLimits.maxTextLengthOfProviders,
        "The longest text, in UTF-16 code units."),
      maxSegments: bounds.integer(
        "maxSegments", default: 10, in: 1...24, "The most segments of one message; each is billed."),
      allowsDomainBoundCodes: bounds.bool(
        "allowDomainBoundCodes", default: false,
        "Whether a job's own text may end with a line that binds a code to a domain (@example.com #482913)."))
    recipients = RecipientRules(
      regions: RegionRules(section.section("regions"), mustNameSome: true), overrides: NumberOverrides.read(section))
    minValidity = section.seconds(
      "minimumValiditySeconds", default: .seconds(5), in: .seconds(1) ... .seconds(3600),
      "With less time left until the deadline nothing is sent: it would not arrive in time.")
    tables = ProviderTables(section, providers.flatMap { $0.tables })
    reports = ReportSettings(section.section("receipts"), health: common.http)
    lanes = LaneSettings.read(
      section, "The lanes in the order in which they are tried.", most: Self.maxLanes,
      shownIn: "Config/sms-worker.json5", providers: providers
    ).map { SMSLaneSettings($0.settings, $0.section) }
    transliteration = Self.transliteration(section, isUsed: lanes.contains(where: \.transliterate))
    bulk = BulkSettings(section.section("bulk"), lanes: lanes.map(\.lane))
    worker.checkPrefetch(for: lanes.map(\.lane), section)
  }

  /// Adds the regions that messages may go to, and the numbers that each lane takes, to what the doctor is told.
  func describe(_ report: inout RuntimeReport) {
    report.regions = recipients.regions.allowed.sorted()
    report.routes = lanes.map { lane in
      RuntimeReport.Route(lane: lane.lane.name, regions: lane.rules.regions.sorted(), prefixes: lane.rules.prefixes)
    }
  }

  private static func transliteration(_ section: ConfigurationSection, isUsed: Bool) -> Transliteration? {
    let path = section.path(
      "transliterationTable", default: "transliteration.json5",
      "The table of characters that lanes with transliterate may replace.")
    return isUsed ? section.read("transliterationTable", try Transliteration(file: path)) : nil
  }
}
