import CountersignAMQP
import CountersignMessages
public import ServiceRuntime

/// A ``JobWorker`` with the connections, ledger and settings of its process: the service that a worker's executable
/// starts.
public struct WorkerService<Handler: JobHandler>: Service {
  public let name: String
  private let worker: JobWorker<Handler>
  private let finish: @Sendable () async -> Void

  /// - Parameters:
  ///   - handler: reads the jobs and calls the providers.
  ///   - queue: queue of the jobs, also after a delay; `nil` for the queue named like their type.
  ///   - lanes: its lanes, at least one.
  ///   - settings: prefetch, ledger, repetitions.
  ///   - prefetch: jobs taken from this queue ahead; `nil` for that of the settings.
  ///   - common: broker and maximum duration of a stop.
  ///   - context: components shared by the services of the process.
  ///   - prefix: distinguishes the connections and checks of several workers of one process: `recaptcha.`.
  ///   - adjust: changes the options, such as the limits for a job's life.
  ///   - finish: called when the last job has ended: closes the handler's resources.
  /// - Throws: a hint for the operator about the ledger's file.
  public init(
    handler: Handler, queue: String? = nil, lanes: [LaneConfiguration], settings: WorkerSettings,
    prefetch: Int? = nil, common: CommonConfiguration, context: ServiceContext, prefix: String = "",
    adjust: (inout JobWorkerOptions) -> Void = { _ in },
    finish: @escaping @Sendable () async -> Void = {}
  ) async throws(WorkerError) {
    let queue = queue ?? Handler.Body.type.name
    let prefetch = settings.bounded(prefetch ?? settings.prefetch(for: lanes), for: lanes)
    name = queue
    self.finish = finish
    let broker = BrokerConnectionSettings(common.broker, context)
    let consumer = Consumer(
      endpoint: broker.endpoint, options: broker.options(prefix + "consumer"), queue: queue,
      prefetch: prefetch, gathering: .workerAcknowledgements,
      onEvent: broker.observer(prefix + "consumer"))
    let publisher = Publisher(
      endpoint: broker.endpoint, options: broker.options(prefix + "publisher"),
      gathering: .workerResults, onEvent: broker.observer(prefix + "publisher"))
    broker.watch(prefix + "consumer") { consumer.status }
    broker.watch(prefix + "publisher") { publisher.status }
    var options = JobWorkerOptions(
      queue: queue, author: Author(appID: context.name, userID: broker.endpoint.username))
    options.rules.maximumUnknownResends = settings.maxUnknownResends
    // After a reconnect the broker redelivers jobs that are still in flight.
    options.maximumInFlight = 2 * prefetch
    options.hasOtherHosts = settings.consumers == .severalHosts && settings.ledger.kind != .none
    options.retention = settings.ledger.retention
    options.maximumLedgerBytes = settings.ledger.maximumBytes
    // The rest of the ceiling is for closing.
    options.drainTimeout = common.stopCeiling * 3 / 4
    adjust(&options)
    let ledger = try await settings.ledger.open()
    worker = JobWorker(
      handler: handler, options: options, lanes: lanes, ledger: ledger, source: consumer,
      sink: publisher, clocks: context.clocks, log: context.log, metrics: context.metrics,
      markStore: await settings.ledger.openMarks(in: ledger, log: context.log))
    worker.register(in: context.health, prefix: prefix)
  }

  public func run() async {
    await worker.run()
    await finish()
  }

  public func stop() async { await worker.stop() }
}
