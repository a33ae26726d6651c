import AMQP
import Messages
public import ServiceRuntime
import Telemetry
import WorkerRuntime

/// Takes the reports of providers on the process's HTTP port and publishes them, on a connection of its own.
public struct ReceiptService: Service {
  public let name = "receipts"
  private let publisher: Publisher

  init(
    _ addresses: CallbackAddresses, sources: [String: any ReceiptSource], _ broker: BrokerConfiguration,
    _ context: ServiceContext
  ) {
    let broker = BrokerConnectionSettings(broker, context)
    let publisher = Publisher(
      endpoint: broker.endpoint, options: broker.options("receipts"), onEvent: broker.observer("receipts"))
    broker.watch("receipts") { publisher.status }
    self.publisher = publisher
    let endpoint = ReceiptEndpoint(
      addresses: addresses, sources: sources,
      publisher: ReceiptPublisher(
        sink: publisher, author: Author(appID: context.name, userID: broker.endpoint.username),
        log: ThrottledLog(context.log, clock: context.clocks.monotonic)),
      metrics: ReceiptMetrics(context.metrics), clock: context.clock)
    context.routes.register(CallbackAddresses.path) { await endpoint.answer($0) }
  }

  public func run() async { await publisher.run() }

  public func stop() async { await publisher.stop() }
}
