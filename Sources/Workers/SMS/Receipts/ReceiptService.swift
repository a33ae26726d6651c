import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine
public import ServiceRuntime

/// Takes the reports of providers on a port of its own, which strangers may reach, and publishes them on a connection of its own.
public struct ReceiptService: Service {
  public let name = "receipts"
  private let publisher: Publisher
  private let listener: HTTPListener

  /// The longest report; providers' own take less than 4 KiB.
  static let maxBodyBytes = 16 * 1024
  /// The port's connections, of which one client has a part only; further ones wait until one closes.
  static let maxConnections: UInt32 = 1_024
  /// Time a report may take to arrive: providers give up after 5 to 15 s themselves.
  private static let requestTime: Duration = .seconds(10)

  init(
    _ settings: ReceiptSettings.Taking, sources: [String: any ReceiptSource], _ broker: BrokerConfiguration,
    _ context: ServiceContext
  ) throws(StartError) {
    let broker = BrokerConnectionSettings(broker, context)
    let publisher = Publisher(
      endpoint: broker.endpoint, options: broker.options("receipts"), onEvent: broker.observer("receipts"))
    broker.watch("receipts") { publisher.status }
    self.publisher = publisher
    let endpoint = ReceiptEndpoint(
      addresses: settings.addresses, sources: sources,
      publisher: ReceiptPublisher(
        sink: publisher, author: Author(appID: context.name, userID: broker.endpoint.username),
        log: ThrottledLog(context.log, clock: context.clocks.monotonic)),
      metrics: ReceiptMetrics(context.metrics), clock: context.clock)
    let limits = HTTPServerLimits(
      connections: Self.maxConnections, connectionsPerClient: settings.connectionsPerClient,
      idleTimeout: .seconds(60), requestTime: Self.requestTime)
    listener = try HTTPListener(
      settings.listen, section: "receipts", metrics: context.metrics, maxBodyBytes: Self.maxBodyBytes,
      limits: limits
    ) { request in
      guard request.path.hasPrefix(CallbackAddresses.path) else {
        return HTTPServerResponse(status: 404, text: "not found\n")
      }
      return await endpoint.answer(request)
    }
    context.log.info("takes delivery reports", ["http": "\(settings.listen.host):\(listener.port)"])
  }

  public func run() async { await publisher.run() }

  /// The last reports are published before the connection ends.
  public func stop() async {
    await listener.stop()
    await publisher.stopPromptly()
  }
}
