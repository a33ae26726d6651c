import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine
import ServiceRuntime

/// On a port of its own, which the internet may reach, and on a broker connection of its own.
struct ReportService: Service {
  let name = "receipts"
  private let publisher: Publisher
  private let listener: HTTPListener

  /// Those of providers take less than 4 KiB.
  static let maxBodyBytes = 16 * 1024
  /// Maximum number of connections of the port, of which one client has a part only. Others wait until one closes.
  static let maxConnections: UInt32 = 1_024
  /// Providers give up after 5 to 15 s.
  private static let requestTime: Duration = .seconds(10)

  init(
    _ settings: ReportSettings.Taking, readers: [String: any ProviderReportReader], _ broker: BrokerConfiguration,
    _ context: ServiceContext
  ) throws(StartError) {
    let broker = BrokerConnectionSettings(broker, context)
    let publisher = Publisher(
      endpoint: broker.endpoint, options: broker.options("receipts"), onEvent: broker.observer("receipts"))
    broker.watch("receipts") { publisher.status }
    self.publisher = publisher
    let endpoint = ReportEndpoint(
      addresses: settings.addresses, readers: readers,
      publisher: ReportPublisher(
        sink: publisher, author: Author(appID: context.name, userID: broker.endpoint.username),
        logger: ThrottledLog(context.logger, clock: context.clocks.monotonic)),
      metrics: ReportMetrics(context.metrics), clock: context.clock)
    let limits = HTTPServerLimits(
      connections: Self.maxConnections, connectionsPerClient: settings.connectionsPerClient,
      idleTimeout: .seconds(60), requestTime: Self.requestTime)
    listener = try HTTPListener(
      settings.listen, section: "receipts", metrics: context.metrics, maxBodyBytes: Self.maxBodyBytes,
      limits: limits
    ) { request in
      guard request.path.hasPrefix(ReportAddresses.path) else {
        return HTTPServerResponse(status: 404, text: "not found\n")
      }
      return await endpoint.answer(request)
    }
    context.logger.info("accepting delivery reports", ["http": "\(settings.listen.host):\(listener.port)"])
  }

  func run() async { await publisher.run() }

  /// Publishes the last reports before the connection ends.
  func stop() async {
    await listener.stop()
    await publisher.stopPromptly()
  }
}
