import CommandEngine
import CountersignAMQP
import CountersignConcurrency
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import Dispatch
import FoundationEssentials
public import ServiceRuntime
import Synchronization

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
    let flows = Flows(rules, secrets, metrics: parts.metrics, conversion: parts.conversion, fictional: fictional)
    let engine = try await parts.engine(flows)
    let maintenance = Maintenance(engine, interval: configuration.maintenanceInterval)
    try await parts.storage.attempt { () throws(StoreError) in try await maintenance.begin() }
    let results = try await parts.marks(Topology.Queues.results)
    let commands = try await parts.marks(Topology.Queues.commands)
    // Until here the check of the database tells what the start waits for.
    parts.registerHealth(of: engine)
    return [
      DatabaseService(parts.storage, maintenance: maintenance, store: engine.store),
      PublisherService(publisher: parts.publisher),
      MaintenanceService(maintenance),
      TurnService(turn: parts.turn, results: parts.results),
      PipelineService(name: "results", pipeline: engine.reportPipeline(parts.results, marks: results)),
      PipelineService(name: "commands", pipeline: engine.commandPipeline(parts.commands, marks: commands)),
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
    let storage: any CoordinatorStorage
    let conversion: ConversionFlow
    private let areCommandsStored = CommandsStored()

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
      storage = try await CoordinatorServices.storage(configuration, turn, context)
      let isShared = storage.isShared
      let consumer = {
        (role: String, queue: String, lock: String?, note: @escaping @Sendable (ConnectionEvent) -> Void) in
        let observe = broker.observer(role)
        var options = broker.options(role, maxBodyBytes: maxBodyBytes)
        if lock != nil { options.heartbeat = min(options.heartbeat, Turn.heartbeat) }
        let consumer = Consumer(
          endpoint: broker.endpoint, options: options,
          subscription: Consumer.Subscription(
            queue: queue, prefetch: configuration.prefetch, lock: lock, isLockShared: isShared)
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
      conversion = ConversionFlow(
        Conversions(configuration.rules, metrics: metrics.conversion, logger: context.logger),
        startedAt: context.clock.now(),
        longestSilence: max(ConversionOutages.longestSilence, configuration.maintenanceInterval * 3),
        isShared: isShared
      ) { [publisher, commands, areCommandsStored] in
        publisher.isReady && commands.isReady && areCommandsStored.isTrue
      }
    }

    /// Makes the store, and carries over what an earlier version left in the database.
    func engine(_ flows: Flows) async throws -> EngineContext {
      let metrics = EngineMetrics(context.metrics)
      let begun = try await storage.begin(
        CarryOver(configuration.rules, conversion.conversions, context.logger, metrics), clock: context.clock)
      var rules = configuration.rules.engine
      rules.storageHint = storage.hint
      let engine = EngineContext(
        flows.registry, store: begun.store, rules: rules, sink: publisher, author: author, clock: context.clock,
        metrics: metrics, logger: context.logger)
      engine.outbox.health.unreadable(more: begun.messagesLeft)
      areCommandsStored.follow(engine.health)
      return engine
    }

    func registerHealth(of engine: EngineContext) {
      context.health.register("database") { engine.health.state }
      context.health.register("outbox") { engine.outbox.health.state }
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

    /// Marks of redelivered messages: one at a time, as batches are.
    func marks(_ queue: String) async throws -> CrashMarks {
      CrashMarks(
        queue: queue, store: try await storage.marks(), stepsAtOnce: 1, clock: context.clock,
        logger: context.logger, metrics: context.metrics)
    }
  }

  /// Whether changes of commands can be stored, for a flow that is made before the engine.
  private final class CommandsStored: Sendable {
    private let health = Mutex<StorageHealth?>(nil)

    func follow(_ health: StorageHealth) { self.health.withLock { $0 = health } }

    var isTrue: Bool {
      health.withLock { $0.map { !$0.keepsCommandsWaiting(orEnding: .endVerifications) } ?? true }
    }
  }

  private static func storage(
    _ configuration: CoordinatorConfiguration, _ turn: Turn, _ context: ServiceContext
  ) async throws -> any CoordinatorStorage {
    switch configuration.database {
    case .sqlite(let path, let options):
      context.health.register("turn") { turn.health }
      return try await SQLiteStorage.open(path, options, turn: turn, logger: context.logger)
    case .postgresql(let settings):
      return try await PostgreSQLStorage.open(settings, context)
    }
  }
}

/// Closes the database when all its users have ended.
struct DatabaseService: Service {
  let name = "database"
  let storage: any CoordinatorStorage
  let maintenance: Maintenance
  let store: any Store
  private let stopRequested = Latch()

  init(_ storage: any CoordinatorStorage, maintenance: Maintenance, store: any Store) {
    self.storage = storage
    self.maintenance = maintenance
    self.store = store
  }

  func run() async {
    await stopRequested.wait()
    await maintenance.end()
    await store.close()
    await storage.close()
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
struct PipelineService: Service {
  let name: String
  let pipeline: any QueuePipeline

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
