import CountersignTelemetry
import HTTPClient
import JobEngine
import ServiceRuntime

/// A provider of the push-worker: one `type` of the entries of `lanes`. An instance holds the keys of one entry.
///
/// A provider is a folder next to this file, a line in ``PushProviders/all``, and its tables in `Config/providers/`. It
/// makes lanes of one of two kinds: those that push, ``PushLane``, and those that assess, ``RecaptchaLane``.
protocol PushProvider: Sendable {
  /// `type` of the provider's lanes in the configuration.
  static var typeName: String { get }

  static var tables: [ProviderTables.Source] { get }

  /// Whether its lanes push to devices. The default is `false`.
  static var pushes: Bool { get }

  /// Reads the provider's own keys of an entry. Problems are reported to the section, so reading cannot fail.
  init(_ section: ConfigurationSection)

  /// A key whose value only one lane may have. The default is `nil`.
  var uniqueKey: (key: String, value: String)? { get }

  func makeLanes(
    _ entry: PushLaneSettings, _ context: PushLaneContext, in lanes: inout PushLanes
  ) throws(WorkerError)

  /// Registers the provider's own metrics, whether it has lanes or not. The default is to have none.
  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry)
}

extension PushProvider {
  static var pushes: Bool { false }

  var uniqueKey: (key: String, value: String)? { nil }

  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry) {}
}

/// Registry of the providers that the worker ships with.
enum PushProviders {
  /// All of them, in the order in which messages to the operator list them.
  static let all: [any PushProvider.Type] = [
    APNsProvider.self, EnterpriseProvider.self, RecaptchaV3Provider.self, RecaptchaV2Provider.self,
  ]
}

/// One entry of `lanes`.
struct PushLaneSettings: Sendable {
  /// Settings the engine needs: name, slots, rate, breaker.
  let lane: LaneConfiguration
  /// File with the authorities that the provider's certificate must come from; the system's if `nil`.
  let caFile: String?
  /// `nil` for an unknown `type`, which was reported.
  let provider: (any PushProvider)?

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection, providers: [any PushProvider.Type]) {
    lane = LaneConfiguration(section)
    caFile = section.path("caFile", "Certificates to trust (PEM); the system's if absent.")
    let names = providers.map { $0.typeName }.joined(separator: ", ")
    let text = section.string("type", "The provider: one of \(names).")
    provider = providers.first { $0.typeName == text }?.init(section)
    if provider == nil, !text.isEmpty { section.unknownType(valid: names) }
  }

  /// Makes an HTTP client for the lane.
  func client(concurrency: Int? = nil) throws(WorkerError) -> HTTPClient {
    let concurrency = concurrency ?? lane.concurrency
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: concurrency, maxWaiting: concurrency, caFile: caFile, userAgent: "countersign-push-worker"))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(lane.name): \(error)")
    }
  }
}

/// Parts of the worker that providers make lanes from.
struct PushLaneContext: Sendable {
  let apps: [AppSettings]
  /// Age at which a token that the worker signs is renewed.
  let tokenLife: Duration
  let tables: ProviderTables
  let clocks: Clocks
  let logger: Logger
}

/// The lanes of a worker, by the jobs they serve.
struct PushLanes: Sendable {
  /// Lanes for `push.verify`.
  var pushing: PushRoutes
  /// Lanes for `recaptcha.assess`.
  var recaptcha: RecaptchaAccounts

  init(_ configuration: PushWorkerConfiguration, clocks: Clocks, logger: Logger) throws(WorkerError) {
    pushing = PushRoutes(configuration.apps)
    recaptcha = RecaptchaAccounts(configuration.apps)
    let context = PushLaneContext(
      apps: configuration.apps, tokenLife: configuration.tokenLife, tables: configuration.tables, clocks: clocks,
      logger: logger)
    for entry in configuration.lanes { try entry.provider?.makeLanes(entry, context, in: &self) }
  }
}

extension String {
  /// An address that a path can be appended to.
  var withoutTrailingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
