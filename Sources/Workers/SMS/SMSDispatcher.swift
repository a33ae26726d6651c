import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine
import ServiceRuntime

/// Lanes and job handler of an `sms-worker`, made from its configuration.
struct SMSDispatcher: Sendable {
  let handler: SMSJobHandler
  /// Lanes in the order in which they are tried, with the capacity that is left to codes.
  let lanes: [LaneConfiguration]
  /// The same lanes with the capacity for messages that can wait; empty if the worker takes none.
  let bulkLanes: [LaneConfiguration]
  /// Services of the lanes. Started before the worker, so that they are stopped after it.
  let services: [any Service]
  /// Readers of delivery reports over HTTP, by the lane's name.
  let reportReaders: [String: any ProviderReportReader]
  private let transports: [HTTPClient]

  init(
    _ configuration: SMSWorkerConfiguration, keys: KeyRing?, sink: (any SessionReportSink)? = nil,
    logger: Logger? = nil, clock: any WallClock = SystemClock()
  ) throws(WorkerError) {
    guard let templates = configuration.templates.templates else {
      throw WorkerError(.invalidConfiguration, "templates.directory: the templates have problems")
    }
    var routes: [LaneRoute] = []
    var transports: [HTTPClient] = []
    var readers: [String: any ProviderReportReader] = [:]
    var services: [any Service] = []
    for settings in configuration.lanes {
      guard let provider = settings.provider else { throw Self.incomplete(settings) }
      let http = try Self.transport(settings)
      var context = SMSLaneContext(
        name: settings.lane.name, table: configuration.tables[type(of: provider).table], http: http, clock: clock)
      context.caFile = settings.caFile
      context.reportAddresses = configuration.reports.taking?.addresses
      context.reportSink = sink
      context.logger = logger
      let provided = try provider.makeLane(context)
      routes.append(settings.route(provided.lane, configuration.transliteration))
      transports.append(http)
      readers[settings.lane.name] = provided.reports
      if let service = provided.service { services.append(service) }
    }
    self.services = services
    self.transports = transports
    reportReaders = readers
    let ring = if let keys { keys } else { try Self.noKeys() }
    let whole = configuration.lanes.map(\.lane)
    lanes = configuration.bulk.map { bulk in whole.map { $0.split(bulk.share).rest } } ?? whole
    bulkLanes = configuration.bulk.map { bulk in whole.map { $0.split(bulk.share).share } } ?? []
    handler = SMSJobHandler(
      routes: routes, recipients: configuration.recipients, templates: templates, keys: ring,
      limits: configuration.limits, appName: configuration.templates.appName)
  }

  private static func transport(_ settings: SMSLaneSettings) throws(WorkerError) -> HTTPClient {
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: settings.lane.concurrency, maxWaiting: settings.lane.concurrency, caFile: settings.caFile,
          userAgent: "countersign-sms-worker"))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(settings.lane.name): \(error)")
    }
  }

  private static func incomplete(_ settings: SMSLaneSettings) -> WorkerError {
    WorkerError(.invalidConfiguration, "lane \(settings.lane.name): the configuration has problems")
  }

  private static func noKeys() throws(WorkerError) -> KeyRing {
    do {
      return try KeyRing(sealing: nil)
    } catch {
      throw WorkerError(.invalidConfiguration, "no key ring can be made: \(error)")
    }
  }

  /// Ends the connections to the providers; calls under way fail.
  func shutdown() async {
    for transport in transports { await transport.shutdown() }
  }
}
