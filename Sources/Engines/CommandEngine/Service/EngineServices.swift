public import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry
import CrashMarks
import RecordStore
public import ServiceRuntime

/// The parts of a stateful service that stand on the engine: connections to the broker, database, queues, maintenance.
///
/// A service opens them, makes its flows, begins with those, and hands the services to its `ServiceGroup`:
///
///     let parts = try await EngineServices.open(settings, rules, context)
///     let engine = try await parts.begin(flows)
///     return try await parts.services(engine)
public struct EngineServices: Sendable {
  /// The longest body that is taken from a queue, so that it can be copied to the dead letters. The broker moves longer
  /// ones.
  public static let maxBodyBytes = 2 << 20

  /// Sender of all messages.
  public let author: Author
  /// Publishes under the service's own user.
  public let publisher: Publisher
  /// Consumes the commands, with the lock.
  public let commands: Consumer
  /// Consumes the results and replies while the commands are consumed.
  public let reports: Consumer
  /// The clock of the service: that of the database where processes share it.
  public var clock: any WallClock { storage.clock }
  /// The opened database.
  public let storage: any ServiceStorage
  private let settings: ServiceSettings
  private let rules: EngineRules
  private let context: ServiceContext
  /// Whether the queues are consumed.
  public let attendance: Attendance

  /// Opens the database, and makes the connections without starting them.
  /// - Parameters:
  ///   - settings: what the configuration decides.
  ///   - rules: the rules of the engine, which name the queues.
  ///   - context: the process.
  /// - Throws: `StartError` when the database cannot be opened.
  public static func open(
    _ settings: ServiceSettings, _ rules: EngineRules, _ context: ServiceContext
  ) async throws -> EngineServices {
    let turn = Turn(of: settings.process)
    let attendance = Attendance(context.metrics, logger: context.logger)
    context.health.register("queues") { attendance.health }
    let connections = ServiceConnections(settings, rules, context)
    let publisher = connections.publisher()
    let storage = try await settings.database.open(of: settings.kind, turn, context)
    let services = EngineServices(
      settings, rules, context, attendance, storage, connections, publisher)
    // Until the attendance says so: a process whose secrets do not fit takes nothing.
    await services.commands.pause()
    await services.reports.pause()
    return services
  }

  private init(
    _ settings: ServiceSettings, _ rules: EngineRules, _ context: ServiceContext, _ attendance: Attendance,
    _ storage: any ServiceStorage, _ connections: ServiceConnections, _ publisher: Publisher
  ) {
    self.settings = settings
    self.context = context
    self.attendance = attendance
    self.storage = storage
    self.publisher = publisher
    author = connections.author
    commands = connections.commands(attendance, isShared: storage.isShared)
    reports = connections.reports(isShared: storage.isShared)
    var rules = rules
    rules.storageHint = storage.hint
    self.rules = rules
  }

  /// Makes the store, and the engine on it.
  /// - Parameters:
  ///   - flows: the flows of the service.
  ///   - metrics: metrics of the engine.
  public func begin(_ flows: FlowRegistry, _ metrics: EngineMetrics) async throws -> EngineContext {
    let engine = EngineContext(
      flows, store: try await storage.begin(), rules: rules, sink: publisher, author: author, clock: clock,
      metrics: metrics,
      logger: context.logger)
    return engine
  }

  /// Begins the maintenance, and makes the services in the order in which they start.
  /// - Parameter facts: what the other members of the service are told.
  /// - Throws: `StartError` when the database cannot be read.
  public func services(_ engine: EngineContext, _ facts: MemberFacts = MemberFacts()) async throws -> [any Service] {
    let maintenance = Maintenance(engine, interval: settings.maintenanceInterval)
    try await storage.attempt { () throws(StoreError) in try await maintenance.begin() }
    let membership = Membership(storage.members, attendance, facts, context.metrics)
    try await storage.attempt { () throws(StoreError) in try await membership.round(at: .now) }
    context.health.register("members", detail: { membership.detail }, check: { .ok })
    let reportMarks = try await marks(rules.reportQueue, keepsOrder: settings.reportsSource != nil)
    let commandMarks = try await marks(rules.commandQueue)
    // Until here the check of the database tells what the start waits for.
    context.health.register("database") { engine.health.state }
    context.health.register("outbox") { engine.outbox.health.state }
    return [
      DatabaseService(storage, maintenance: maintenance, store: engine.store),
      PublisherService(publisher: publisher),
      MaintenanceService(maintenance),
      MembershipService(membership),
      AttendanceService(attendance: attendance, commands: commands, reports: reports, session: storage.session),
      PipelineService(name: settings.reports, pipeline: engine.reportPipeline(reports, marks: reportMarks)),
      PipelineService(
        name: "commands",
        pipeline: engine.commandPipeline(
          commands, marks: commandMarks, prefetch: settings.stagePrefetch(isShared: storage.isShared))),
    ]
  }

  /// Marks of redelivered messages: one at a time, as batches are.
  private func marks(_ queue: String, keepsOrder: Bool = false) async throws -> CrashMarks {
    CrashMarks(
      queue: queue, store: try await storage.marks(), order: keepsOrder ? .kept : .any(stepsAtOnce: 1), clock: clock,
      logger: context.logger, metrics: context.metrics)
  }
}

struct ServiceConnections {
  private let settings: ServiceSettings
  private let rules: EngineRules
  private let broker: BrokerConnectionSettings
  let author: Author

  init(_ settings: ServiceSettings, _ rules: EngineRules, _ context: ServiceContext) {
    self.settings = settings
    self.rules = rules
    broker = BrokerConnectionSettings(settings.broker, context)
    author = Author(appID: context.name, userID: broker.endpoint.username)
  }

  func publisher() -> Publisher {
    let publisher = Publisher(
      endpoint: broker.endpoint, options: options("publisher"), onEvent: broker.observer("publisher"))
    broker.watch("publisher") { publisher.status }
    return publisher
  }

  /// Processes that share a database share the lock.
  func commands(_ attendance: Attendance, isShared: Bool) -> Consumer {
    var options = options("commands")
    options.heartbeat = min(options.heartbeat, isShared ? Turn.sharedHeartbeat : Turn.heartbeat)
    let subscription = Consumer.Subscription(
      queue: rules.commandQueue, prefetch: settings.commandPrefetch(isShared: isShared), lock: settings.lockQueue,
      isLockShared: isShared)
    return consumer("commands", options, subscription) { attendance.note($0) }
  }

  func reports(isShared: Bool) -> Consumer {
    let role = settings.reports
    var options = options(role)
    if isShared, settings.reportsSource != nil { options.heartbeat = min(options.heartbeat, Turn.sharedHeartbeat) }
    let subscription = Consumer.Subscription(
      queue: rules.reportQueue, prefetch: settings.prefetch, source: settings.reportsSource)
    return consumer(role, options, subscription) { _ in }
  }

  private func consumer(
    _ role: String, _ options: ConnectionOptions, _ subscription: Consumer.Subscription,
    _ note: @escaping @Sendable (ConnectionEvent) -> Void
  ) -> Consumer {
    let observe = broker.observer(role)
    let consumer = Consumer(endpoint: broker.endpoint, options: options, subscription: subscription) { event in
      observe(event)
      note(event)
    }
    broker.watch(role) { consumer.status }
    return consumer
  }

  private func options(_ role: String) -> ConnectionOptions {
    broker.options(role, maxBodyBytes: EngineServices.maxBodyBytes)
  }
}
