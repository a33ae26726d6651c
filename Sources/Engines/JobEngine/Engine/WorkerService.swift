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
  ///   - queue: the queue that it consumes.
  ///   - lanes: its lanes, at least one.
  ///   - settings: prefetch, ledger, repetitions.
  ///   - common: broker and maximum duration of a stop.
  ///   - context: components shared by the services of the process.
  ///   - adjust: changes the options, such as the limits for a job's life.
  ///   - finish: called when the last job has ended: closes the handler's resources.
  /// - Throws: a hint for the operator about the ledger's file.
  public init(
    handler: Handler, queue: WorkerQueue = WorkerQueue(), lanes: [LaneConfiguration], settings: WorkerSettings,
    common: CommonConfiguration, context: ServiceContext,
    adjust: (inout JobWorkerOptions) -> Void = { _ in },
    finish: @escaping @Sendable () async -> Void = {}
  ) async throws(WorkerError) {
    let prefix = queue.prefix
    let prefetch = settings.bounded(queue.prefetch ?? settings.prefetch(for: lanes), for: lanes)
    name = queue.name ?? Handler.Body.type.name
    self.finish = finish
    let broker = BrokerConnectionSettings(common.broker, context)
    let consumer = Consumer(
      endpoint: broker.endpoint, options: broker.options(prefix + "consumer"),
      subscription: Consumer.Subscription(queue: name, prefetch: prefetch, gathering: .workerAcknowledgements),
      onEvent: broker.observer(prefix + "consumer"))
    let publisher = Publisher(
      endpoint: broker.endpoint, options: broker.options(prefix + "publisher"),
      gathering: .workerResults, onEvent: broker.observer(prefix + "publisher"))
    broker.watch(prefix + "consumer") { consumer.status }
    broker.watch(prefix + "publisher") { publisher.status }
    var options = JobWorkerOptions(
      queue: name, author: Author(appID: context.name, userID: broker.endpoint.username))
    options.rules.maxUnknownResends = settings.maxUnknownResends
    options.rules.leaseMargin = settings.ledger.leaseMargin
    // After a reconnect the broker redelivers jobs that are still in flight.
    options.maxInFlight = 2 * prefetch
    options.hasOtherHosts = settings.consumers == .severalHosts && settings.ledger.kind == .sqlite
    options.retention = settings.ledger.retention
    options.maxLedgerBytes = settings.ledger.maxBytes
    // The rest of the ceiling is for closing.
    options.drainTimeout = common.stopCeiling * 3 / 4
    adjust(&options)
    let ledger = try await settings.ledger.open(
      for: context.instance, longestCall: lanes.map(\.callTimeout).max() ?? .zero)
    worker = JobWorker(
      handler: handler, options: options, lanes: lanes, ledger: ledger,
      broker: WorkerBroker(source: consumer, sink: publisher), instruments: WorkerInstruments(context),
      markStore: await settings.ledger.openMarks(in: ledger, for: context, check: prefix + "ledger"))
    worker.register(in: context.health, prefix: prefix)
    worker.describe(in: context.runtime)
  }

  public func run() async {
    await worker.run()
    await finish()
  }

  public func stop() async { await worker.stop() }
}

/// The queue that a ``WorkerService`` consumes.
public struct WorkerQueue: Sendable {
  /// Name of the queue, where its jobs return after a delay. `nil` for the queue named like their type.
  public var name: String?
  /// Number of jobs taken ahead. `nil` for that of the settings.
  public var prefetch: Int?
  /// Distinguishes the connections and checks of several workers of one process: `recaptcha.`.
  public var prefix: String

  public init(name: String? = nil, prefetch: Int? = nil, prefix: String = "") {
    self.name = name
    self.prefetch = prefetch
    self.prefix = prefix
  }
}
