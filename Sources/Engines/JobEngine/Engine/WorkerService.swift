import CountersignAMQP
import CountersignMessages
public import ServiceRuntime

/// A `JobWorker` with connections, ledger and settings of its process: what the executable of a worker starts.
public struct WorkerService<Handler: JobHandler>: Service {
  public let name: String
  private let worker: JobWorker<Handler>
  private let finish: @Sendable () async -> Void

  /// - Parameters:
  ///   - handler: Reads the jobs and calls the providers.
  ///   - queue: Where the jobs come from, and come back to from a delay; the queue named like their type if nil.
  ///   - lanes: Its ways out, at least one.
  ///   - settings: Prefetch, ledger, repetitions.
  ///   - prefetch: Jobs taken from this queue ahead; that of the settings if nil.
  ///   - common: The broker, and how long a stop may take.
  ///   - context: What the services of the process share.
  ///   - prefix: Tells the connections and checks of several workers of one process apart: `recaptcha.`.
  ///   - adjust: Changes the options, such as the rules of a job's life.
  ///   - finish: Called when the last job has ended: closes what the handler holds.
  /// - Throws: what an operator has to mend: the ledger's file.
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
    // After a reconnect the broker delivers anew what is still in flight.
    options.maximumInFlight = 2 * prefetch
    options.hasOtherHosts = settings.consumers == .severalHosts && settings.ledger.kind != .none
    options.retention = settings.ledger.retention
    options.maximumLedgerBytes = settings.ledger.maximumBytes
    // What is left of the ceiling is for closing.
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
