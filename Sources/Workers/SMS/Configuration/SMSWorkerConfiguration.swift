public import JobEngine
import NumberRules
import PhoneNumbers
public import ServiceRuntime

/// What an `sms-worker` is configured with. `Config/sms-worker.json5` explains every key.
public struct SMSWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  /// Where the texts are.
  public let templates: TemplateSettings
  /// The bounds of one message.
  public let limits: SMSLimits
  /// Rules for numbers that get messages.
  public let recipients: RecipientRules
  /// With less time than this until the deadline nothing is sent: it would not arrive in time.
  public let minimumValidity: Duration
  /// What providers' answers mean.
  let tables: ProviderTables
  /// Whether and how providers report on messages.
  let receipts: ReceiptSettings
  /// What lanes with `transliterate` may replace; nil when there is none, or when the table is wrong, which is reported.
  let transliteration: Transliteration?
  /// Whether and how messages are taken that can wait; nil when they are not.
  public let bulk: BulkSettings?
  /// The ways out, in the order in which they are tried.
  public let lanes: [LaneSettings]

  /// The lanes whose receipts name a message by the provider's own ID alone.
  public var lanesMatchedByReference: Set<String> {
    Set(lanes.filter(\.provider.reportsOnItsOwnConnection).map(\.lane.name))
  }

  /// The most lanes of one worker; each has connections and metrics of its own.
  static let maxLanes = 32

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8081)
    WorkerSettings.checkKeys(common, section)
    worker = WorkerSettings(section, ledgerPath: "sms-ledger.sqlite")
    templates = TemplateSettings(section.section("templates"))
    let bounds = section.section("limits")
    limits = SMSLimits(
      maxTextLength: bounds.integer(
        "maxTextLength", default: SMSLimits.largestTextLength, in: 1...SMSLimits.largestTextLength,
        "The longest text, in UTF-16 code units."),
      maxSegments: bounds.integer(
        "maxSegments", default: 10, in: 1...24, "The most segments of one message; each is billed."),
      allowsDomainBoundCodes: bounds.bool(
        "allowDomainBoundCodes", default: false,
        "Whether a job's own text may end with a line that binds a code to a domain (@example.com #482913)."))
    recipients = RecipientRules(
      regions: RegionRules(section.section("regions"), mustNameSome: true), overrides: NumberOverrides.read(section))
    minimumValidity = section.seconds(
      "minimumValiditySeconds", default: .seconds(5), in: .seconds(1) ... .seconds(3600),
      "With less time left until the deadline nothing is sent: it would not arrive in time.")
    tables = ProviderTables(section)
    receipts = ReceiptSettings(section.section("receipts"), health: common.http)
    lanes = Self.lanes(section)
    transliteration = Self.transliteration(section, isUsed: lanes.contains(where: \.transliterate))
    bulk = BulkSettings(section.section("bulk"), lanes: lanes.map(\.lane))
    worker.checkPrefetch(for: lanes.map(\.lane), section)
  }

  /// Read with the configuration, so that `--check` finds what is wrong with it; only where a lane wants it.
  private static func transliteration(_ section: ConfigurationSection, isUsed: Bool) -> Transliteration? {
    let path = section.path(
      "transliterationTable", default: "transliteration.json5",
      "The table of characters that lanes with transliterate may replace.")
    guard isUsed else { return nil }
    do {
      return try Transliteration(file: path)
    } catch {
      section.problem("transliterationTable", error.message)
      return nil
    }
  }

  private static func lanes(_ section: ConfigurationSection) -> [LaneSettings] {
    let sections = section.sections("lanes", "The ways out, in the order in which they are tried.")
    section.check("lanes", !sections.isEmpty, "is empty: configure at least one lane, as Config/sms-worker.json5 shows")
    section.check("lanes", sections.count <= maxLanes, "has more than \(maxLanes) entries")
    var owners: [String: Int] = [:]
    return sections.enumerated().map { index, entry in
      let lane = LaneSettings(entry)
      if let owner = owners.updateValue(index, forKey: lane.lane.name), !lane.lane.name.isEmpty {
        entry.problem("name", "is the name of lanes.\(owner) too: give each lane its own")
      }
      return lane
    }
  }
}
