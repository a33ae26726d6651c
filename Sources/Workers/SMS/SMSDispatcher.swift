import CountersignCryptography
import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct SMSDispatcher: Sendable {
  let handler: SMSJobHandler
  /// Lanes in the order in which they are tried, with the capacity that is left to codes.
  let lanes: [LaneConfiguration]
  /// The same lanes with the capacity for messages that can wait. Empty if the worker takes none.
  let bulkLanes: [LaneConfiguration]
  /// Started before the worker, so that they are stopped after it.
  let services: [any Service]
  /// By the lane's name.
  let reportReaders: [String: any ProviderReportReader]
  private let ways: [any SMSLane]

  init(
    _ configuration: SMSWorkerConfiguration, keys: KeyRing?, sink: (any SessionReportSink)? = nil,
    logger: Logger? = nil, clock: any WallClock = SystemClock()
  ) throws(WorkerError) {
    guard let templates = configuration.templates.templates else {
      throw WorkerError(.invalidConfiguration, "templates.directory: the templates have problems")
    }
    var routes: [LaneRoute] = []
    var readers: [String: any ProviderReportReader] = [:]
    var services: [any Service] = []
    let reports = ReportWays(addresses: configuration.reports.taking?.addresses, sink: sink)
    for settings in configuration.lanes {
      let (provider, context) = try settings.common.parts(
        of: "sms-worker", configuration.tables, clock, logger: logger)
      let provided = try provider.makeLane(context, reports)
      routes.append(settings.route(provided.lane, configuration.transliteration))
      readers[settings.lane.name] = provided.reports
      if let service = provided.service { services.append(service) }
    }
    self.services = services
    ways = routes.map(\.lane)
    reportReaders = readers
    let ring = if let keys { keys } else { try Self.noKeys() }
    let whole = configuration.lanes.map(\.lane)
    lanes = configuration.bulk.map { bulk in whole.map { $0.split(bulk.share).rest } } ?? whole
    bulkLanes = configuration.bulk.map { bulk in whole.map { $0.split(bulk.share).share } } ?? []
    handler = SMSJobHandler(
      routes: routes, recipients: configuration.recipients, templates: templates, keys: ring,
      limits: configuration.limits, appName: configuration.templates.appName)
  }

  private static func noKeys() throws(WorkerError) -> KeyRing {
    do {
      return try KeyRing(sealing: nil)
    } catch {
      throw WorkerError(.invalidConfiguration, "no key ring can be made: \(error)")
    }
  }

  /// Calls under way fail.
  func shutdown() async {
    for way in ways { await way.shutdown() }
  }
}
