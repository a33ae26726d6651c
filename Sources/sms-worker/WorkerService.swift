import AMQP
import Messages
import SMSDispatch
import ServiceRuntime
import Telemetry
import WorkerRuntime

/// The engine with everything of an `sms-worker` plugged in.
struct WorkerService: Service {
  let name = "worker"
  private let worker: JobWorker<SMSJobHandler>
  private let dispatcher: SMSDispatcher

  /// - Throws: what an operator has to mend: templates, provider tables, certificates, the ledger's file.
  init(_ configuration: SMSWorkerConfiguration, _ context: ServiceContext) async throws {
    dispatcher = try SMSDispatcher(configuration, keys: configuration.common.keys, clock: context.clock)
    let broker = BrokerConnectionSettings(configuration.common.broker, context)
    let consumer = Consumer(
      endpoint: broker.endpoint, options: broker.options("consumer"), queue: Topology.Queues.smsDispatch,
      prefetch: configuration.prefetch, onEvent: broker.observer("consumer"))
    let publisher = Publisher(
      endpoint: broker.endpoint, options: broker.options("publisher"), onEvent: broker.observer("publisher"))
    broker.watch("consumer") { consumer.status }
    broker.watch("publisher") { publisher.status }
    worker = JobWorker(
      handler: dispatcher.handler, options: Self.options(configuration, context), lanes: dispatcher.lanes,
      ledger: try await configuration.ledger.open(), source: consumer, sink: publisher, clock: context.clock,
      log: context.log, metrics: context.metrics)
    worker.register(in: context.health)
  }

  private static func options(_ configuration: SMSWorkerConfiguration, _ context: ServiceContext) -> JobWorkerOptions {
    var options = JobWorkerOptions(
      queue: Topology.Queues.smsDispatch, appID: context.name, owner: context.instance)
    options.rules.maximumUnknownResends = configuration.maxUnknownResends
    options.rules.minimumCallTime = configuration.minimumValidity
    // After a reconnect the broker delivers anew what is still in flight.
    options.maximumInFlight = 2 * configuration.prefetch
    options.retention = configuration.ledger.retention
    // What is left of the ceiling is for closing.
    options.drainTimeout = configuration.common.stopCeiling * 3 / 4
    return options
  }

  func run() async {
    await worker.run()
    await dispatcher.shutdown()
  }

  func stop() async { await worker.stop() }
}
