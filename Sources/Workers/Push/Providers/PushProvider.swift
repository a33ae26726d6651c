import CountersignTelemetry
import JobEngine

/// An instance holds the keys of one entry of `lanes`.
///
/// A provider is a folder next to this file, a line in ``PushProviders/all``, and its tables in `Config/providers/`. Its
/// lanes take calls of one of two kinds: a ``SilentPush`` or an ``AssessmentCall``.
protocol PushProvider: LaneProvider {
  /// The default is `false`.
  static var pushes: Bool { get }

  /// A key whose value only one lane may have. The default is `nil`.
  var uniqueKey: (key: String, value: String)? { get }

  func makeLanes(
    _ entry: PushLaneSettings, _ context: PushLaneContext, in lanes: inout PushLanes
  ) throws(WorkerError)

  /// Registers the provider's own metrics, whether it has lanes or not. The default is to have none.
  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry)
}

typealias PushLaneSettings = LaneSettings<any PushProvider>

extension PushProvider {
  static var pushes: Bool { false }

  var uniqueKey: (key: String, value: String)? { nil }

  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry) {}
}

enum PushProviders {
  /// In the order in which messages to the operator list them.
  static let all: [any PushProvider.Type] = [
    APNsProvider.self, EnterpriseProvider.self, RecaptchaV3Provider.self, RecaptchaV2Provider.self,
  ]
}

extension PushLaneSettings {
  func context(_ context: PushLaneContext) throws(WorkerError) -> LaneContext {
    try parts(of: PushVerifier.program, context.tables, context.clocks.wall).context
  }
}

struct PushLaneContext: Sendable {
  let apps: [AppSettings]
  /// Age at which a token that the worker signs is renewed.
  let tokenLife: Duration
  let tables: ProviderTables
  let clocks: Clocks
  let logger: Logger
}

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
