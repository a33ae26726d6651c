import CountersignAMQP
import CountersignConcurrency
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import Dispatch
import FoundationEssentials
import SQLite
public import ServiceRuntime

/// Wires the coordinator.
public enum CoordinatorServices {
  /// The longest body that is taken from a queue, so that it can be copied to the dead letters; the broker moves longer
  /// ones.
  static let maxBodyBytes = 2 << 20

  /// Opens the database and makes the services, in the order in which they start.
  ///
  /// - Throws: ``StartError`` when the database cannot be opened.
  public static func make(
    _ configuration: CoordinatorConfiguration, _ context: ServiceContext
  ) async throws -> [any Service] {
    guard let pepper = configuration.pepper, let keys = configuration.common.keys else {
      throw CoordinationError(.configuration, "pepperFile and keysFile are required")
    }
    let parts = try await Parts(configuration, context)
    let rules = configuration.rules
    let fictional = FictionalNumbers(rules)
    let secrets = Flows.Secrets(
      codes: VerificationCodes(
        current: pepper, previous: configuration.previousPepper, length: rules.policy.codeLength),
      hashes: KeyedHashes(current: pepper, previous: configuration.previousPepper), keys: keys)
    let flows = Flows(rules, secrets, conversions: parts.conversions, fictional: fictional)
    let commands = CommandQueue(
      decoder: flows.decoder, handler: flows.commands, metrics: parts.metrics, user: parts.author.userID)
    let results = ResultQueue(
      handler: ResultHandler(rules), deliveries: DeliveryReportHandler(rules), operations: flows.reports,
      origin: ResultOrigin(user: parts.author.userID), metrics: parts.metrics, logger: context.logger,
      clock: context.clock
    )
    let relay = parts.relay(flows.reports)
    try await relay.takeOver()
    return [
      DatabaseService(parts.database, parts.owner, relay: relay, log: context.logger),
      PublisherService(publisher: parts.publisher),
      MaintenanceService(parts.maintenance(relay, parts.operations(flows))),
      TurnService(turn: parts.turn, results: parts.results),
      PipelineService(name: "results", pipeline: try parts.pipeline(parts.results, results)),
      PipelineService(name: "commands", pipeline: try parts.pipeline(parts.commands, commands)),
    ] + parts.watch(fictional)
  }

  /// Components shared by the services.
  private struct Parts {
    let configuration: CoordinatorConfiguration
    let context: ServiceContext
    let author: Author
    let metrics: CoordinatorMetrics
    let broker: BrokerConnectionSettings
    let publisher: Publisher
    let commands: Consumer
    let results: Consumer
    let turn = Turn()
    let owner: FileOwner
    let database: Database
    let outbox: Outbox
    let held: HeldJobs
    let conversions: ConversionMonitor
    let health = StorageHealth()

    init(_ configuration: CoordinatorConfiguration, _ context: ServiceContext) async throws {
      self.configuration = configuration
      self.context = context
      metrics = CoordinatorMetrics(context.metrics)
      let broker = BrokerConnectionSettings(configuration.common.broker, context)
      let publisher = Publisher(
        endpoint: broker.endpoint, options: broker.options("publisher", maxBodyBytes: maxBodyBytes),
        onEvent: broker.observer("publisher"))
      broker.watch("publisher") { publisher.status }
      self.broker = broker
      author = Author(appID: context.name, userID: broker.endpoint.username)
      self.publisher = publisher
      let consumer = {
        (role: String, queue: String, lock: String?, note: @escaping @Sendable (ConnectionEvent) -> Void) in
        let observe = broker.observer(role)
        var options = broker.options(role, maxBodyBytes: maxBodyBytes)
        if lock != nil { options.heartbeat = min(options.heartbeat, Turn.heartbeat) }
        let consumer = Consumer(
          endpoint: broker.endpoint, options: options,
          subscription: Consumer.Subscription(queue: queue, prefetch: configuration.prefetch, lock: lock)
        ) { event in
          observe(event)
          note(event)
        }
        broker.watch(role) { consumer.status }
        return consumer
      }
      commands = consumer("commands", Topology.Queues.commands, Topology.Queues.commandsLock) { [turn] in turn.note($0)
      }
      results = consumer("results", Topology.Queues.results, nil) { _ in }
      // Until the commands are consumed.
      await results.pause()
      context.health.register("turn") { [turn] in turn.health }
      owner = try await CoordinatorServices.claim(configuration, turn, context)
      database = try await CoordinatorServices.open(configuration)
      outbox = Outbox(
        sink: publisher, database: database, clock: context.clock, author: author, logger: context.logger,
        metrics: metrics)
      held = HeldJobs(
        database: database, outbox: outbox, clock: context.clock, metrics: metrics, logger: context.logger)
      conversions = ConversionMonitor(
        configuration.rules, metrics: metrics.conversion, startedAt: context.clock.now())
      var loader = ConversionLoader(database: database, rules: configuration.rules, clock: context.clock)
      loader.onSkipped = { [metrics, log = context.logger] table, count in
        metrics.skippedRows.with(table).increment(by: UInt64(count))
        log.error("rows that cannot be read are not counted for the conversion", ["table": "\(table)", .count: count])
      }
      try await loader.load(conversions)
      context.health.register("database") { [health] in health.state }
      context.health.register("outbox") { [outbox] in outbox.health.state }
    }

    func relay(_ reports: OperationReports) -> OutboxRelay {
      OutboxRelay(
        outbox: outbox, database: database, clock: context.clock, logger: context.logger, metrics: metrics,
        dropped: DroppedJobs(
          database: database, retention: configuration.rules.retention, conversions: conversions, metrics: metrics,
          messages: ResultHandler(configuration.rules), operations: reports))
    }

    func operations(_ flows: Flows) -> OperationSweeper {
      OperationSweeper(
        database: database, rules: configuration.rules, assessments: flows.assessments, revocations: flows.revocations,
        clock: context.clock, metrics: metrics, logger: context.logger)
    }

    func maintenance(_ relay: OutboxRelay, _ operations: OperationSweeper) -> Maintenance {
      Maintenance(
        Maintenance.Parts(
          sweeper: VerificationSweeper(
            database: database, rules: configuration.rules, clock: context.clock, metrics: metrics,
            conversions: conversions, logger: context.logger),
          purger: Purger(
            database: database, inboxRetention: configuration.rules.inboxRetention, clock: context.clock),
          relay: relay, operations: operations, held: held, conversions: conversionSweeper),
        interval: configuration.maintenanceInterval, health: health, metrics: metrics, logger: context.logger)
    }

    /// Without a file nothing can change.
    func watch(_ fictional: FictionalNumbers) -> [any Service] {
      guard let file = context.configurationFile else { return [] }
      return [
        FictionalNumbersService(
          FictionalNumbersReader(
            file: file, environment: ProcessInfo.processInfo.environment, numbers: fictional, log: context.logger,
            metrics: context.metrics))
      ]
    }

    private var conversionSweeper: ConversionSweeper {
      ConversionSweeper(
        database: database, conversions: conversions, rules: configuration.rules, clock: context.clock,
        metrics: metrics, logger: context.logger,
        longestSilence: max(ConversionOutages.longestSilence, configuration.maintenanceInterval * 3)
      ) { [publisher, commands, health] in publisher.isReady && commands.isReady && !health.keepsCommandsWaiting }
    }

    func pipeline<Work: BatchQueue>(_ consumer: Consumer, _ work: Work) throws -> BatchPipeline<Work> {
      BatchPipeline(
        source: consumer, work: work,
        QueueContext(
          database: database, outbox: outbox, held: held, conversions: conversions,
          retention: configuration.rules.retention, author: author, clock: context.clock, health: health,
          metrics: metrics, logger: context.logger),
        // One at a time, as batches are.
        marks: CrashMarks(
          queue: work.queue, store: try SQLiteMarkStore(in: database), stepsAtOnce: 1, clock: context.clock,
          logger: context.logger,
          metrics: context.metrics))
    }
  }

  private static func claim(
    _ configuration: CoordinatorConfiguration, _ turn: Turn, _ context: ServiceContext
  ) async throws -> FileOwner {
    do {
      return try await turn.claim(configuration.databasePath, log: context.logger)
    } catch let error as DatabaseError {
      throw startError(error)
    }
  }

  private static func open(_ configuration: CoordinatorConfiguration) async throws(StartError) -> Database {
    do {
      return try await Database.open(
        path: configuration.databasePath, options: configuration.databaseOptions,
        migrations: CoordinatorSchema.migrations)
    } catch {
      throw startError(error)
    }
  }

  private static func startError(_ error: DatabaseError) -> StartError {
    let mend = "see database.path (COUNTERSIGN_DATABASE_PATH); its directory must exist and belong to this user"
    switch error.code {
    case .notPermitted: return StartError(.noPermission, error.description, mend: mend)
    case .cannotOpen, .diskFull, .io: return StartError(.ioError, error.description, mend: mend)
    case .busy: return StartError(.unavailable, error.description, mend: "wait for the process that has it, or end it")
    default: return StartError(.internalError, error.description, mend: nil)
    }
  }
}

/// Closes the database when all its users have ended.
struct DatabaseService: Service {
  let name = "database"
  let database: Database
  /// Released when the database is closed.
  let owner: FileOwner
  let relay: OutboxRelay
  let log: Logger
  private let stopRequested = Latch()

  init(_ database: Database, _ owner: FileOwner, relay: OutboxRelay, log: Logger) {
    self.database = database
    self.owner = owner
    self.relay = relay
    self.log = log
  }

  func run() async {
    await stopRequested.wait()
    do {
      // Otherwise the next run would publish confirmed messages again.
      try await relay.deleteConfirmed()
    } catch {
      log.warning("what was published is not deleted, and will be published again", [.error: error.description])
    }
    await database.close()
  }

  func stop() async {
    stopRequested.open()
  }
}

/// Keeps the publishing connection up.
struct PublisherService: Service {
  let name = "publisher"
  let publisher: Publisher

  func run() async {
    await publisher.run()
  }

  func stop() async {
    await publisher.stop()
  }
}

/// Consumes a queue until it is stopped; taken deliveries are finished first.
struct PipelineService<Work: BatchQueue>: Service {
  let name: String
  let pipeline: BatchPipeline<Work>

  func run() async {
    await pipeline.run()
  }

  func stop() async {
    await pipeline.stop()
  }
}

/// Runs the maintenance until it is stopped. The current round is abandoned: all of it can be repeated.
struct MaintenanceService: Service {
  let name = "maintenance"
  let loop: Maintenance
  private let stopRequested = Latch()

  init(_ loop: Maintenance) {
    self.loop = loop
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.loop.run() }
      group.addTask { await self.stopRequested.wait() }
      await group.next()
      group.cancelAll()
    }
  }

  func stop() async {
    stopRequested.open()
  }
}

/// Checks for changes of the fictional numbers until it is stopped.
struct FictionalNumbersService: Service {
  let name = "fictional numbers"
  private let reader: FictionalNumbersReader
  private let stopRequested = Latch()
  private let queue = DispatchQueue(label: "countersign.fictional-numbers")

  /// An operator who changes them waits for it, and a file of a few kilobytes is cheap to read.
  private static let interval = Duration.seconds(5)

  init(_ reader: FictionalNumbersReader) {
    self.reader = reader
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch() }
      group.addTask { await self.stopRequested.wait() }
      await group.next()
      group.cancelAll()
    }
  }

  private func watch() async {
    while !Task.isCancelled {
      do { try await Task.sleep(for: Self.interval) } catch { return }
      await withCheckedContinuation { done in
        queue.async {
          reader.look()
          done.resume()
        }
      }
    }
  }

  func stop() async {
    stopRequested.open()
  }
}
