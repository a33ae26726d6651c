public import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry
public import CrashMarks
public import RecordStore

/// Store, outbox and observers that the queues and the maintenance of a service share.
public struct EngineContext: Sendable {
  /// The flows.
  public var registry: FlowRegistry
  /// The store of all flows.
  public var store: any Store
  /// Rules that are the same for all flows.
  public let rules: EngineRules
  /// Publishes what transactions leave in the store.
  public let outbox: Outbox
  /// Sender of all messages.
  public let author: Author
  /// Wall clock.
  public let clock: any WallClock
  /// Whether the store takes writes.
  public let health: StorageHealth
  /// Metrics of the engine.
  public let metrics: EngineMetrics
  /// Logger of the service.
  public let logger: Logger

  /// - Parameters:
  ///   - registry: the flows.
  ///   - store: the store of all flows.
  ///   - rules: rules that are the same for all flows.
  ///   - sink: publisher, under the service's own user.
  ///   - author: sender of all messages.
  ///   - clock: wall clock.
  ///   - metrics: metrics of the engine.
  ///   - logger: logger of the service.
  public init(
    _ registry: FlowRegistry, store: any Store, rules: EngineRules, sink: any MessageSink, author: Author,
    clock: any WallClock, metrics: EngineMetrics, logger: Logger
  ) {
    self.registry = registry
    self.store = store
    self.rules = rules
    self.author = author
    self.clock = clock
    self.metrics = metrics
    self.logger = logger
    health = StorageHealth(commands: rules.commandQueue, hint: rules.storageHint, logger: logger)
    outbox = Outbox(sink: sink, store: store, clock: clock, author: author, logger: logger, metrics: metrics)
  }

  /// Effects run once it is committed.
  func transact<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> (Value, [StoredMessage]) {
    let outcome = try await store.transact(first, at: now, settling: settlement) { set throws(StoreError) in
      let value = try body(&set)
      return (value, sent: set.outgoing.count, effects: set.effects)
    }
    let (done, messages) = try stored(outcome)
    finish(sent: done.sent, done.effects)
    return (done.0, messages)
  }

  /// `sent` counts the held messages too.
  func finish(sent: Int, _ effects: [@Sendable () -> Void]) {
    metrics.outboxMessages.add(Double(sent))
    for effect in effects { effect() }
  }

  func publishNow(_ messages: [StoredMessage]) async {
    do {
      _ = try await outbox.publish(messages)
    } catch {
      // They are in the outbox, and published later, or after the next start.
      logger.warning("publishing was ended", [.error: error.description])
    }
  }

  func stored<Value>(_ outcome: StoreOutcome<Value>) throws(StoreError) -> (Value, [StoredMessage]) {
    switch outcome {
    case .stored(let value, let messages): return (value, messages)
    case .conflict(let conflict): throw StoreError(.conflict, conflict.description)
    }
  }
}

/// Rules of a service that are the same for all of its flows.
public struct EngineRules: Sendable, Hashable {
  /// Queue of the commands.
  public var commandQueue: String
  /// Queue of the results and replies.
  public var reportQueue: String
  /// Time for which a redelivered command gets the same reply.
  public var inboxRetention: Duration
  /// Maximum age of a command that is refused late.
  public var maxCommandAge: Duration
  /// The users of the broker that may send operators' commands.
  public var operators: Set<String>
  /// The users of the broker that may send commands of ``CommandKind/Users/requesters``.
  public var requesters: Set<String>
  /// Remedy for operators while the store takes no writes.
  public var storageHint = "look at the disk of the database, and at who else uses it"

  public init(
    commandQueue: String, reportQueue: String, inboxRetention: Duration = .seconds(3600),
    maxCommandAge: Duration = .seconds(30), operators: Set<String> = [],
    requesters: Set<String> = []
  ) {
    self.commandQueue = commandQueue
    self.reportQueue = reportQueue
    self.inboxRetention = inboxRetention
    self.maxCommandAge = maxCommandAge
    self.operators = operators
    self.requesters = requesters
  }
}

/// Consumes a queue until it is stopped. Taken deliveries are finished first.
public protocol QueuePipeline: Sendable {
  /// Serves until ``stop()``, and returns when all taken deliveries are published and acknowledged.
  func run() async
  /// Takes no further deliveries.
  func stop() async
}

extension EngineContext {
  /// The pipeline of the commands.
  /// - Parameters:
  ///   - source: consumer of the queue.
  ///   - marks: marks of redelivered messages; without them, redelivered messages are carried out one at a time.
  ///   - prefetch: deliveries of which stages may take a part.
  public func commandPipeline(
    _ source: any MessageSource, marks: CrashMarks? = nil, prefetch: Int = Turn.sharedPrefetch
  ) -> any QueuePipeline {
    BatchPipeline(source: source, work: CommandQueue(self), self, marks: marks, prefetch: prefetch)
  }

  /// The pipeline of the results and replies.
  /// - Parameters:
  ///   - source: consumer of the queue.
  ///   - marks: marks of redelivered messages; without them, redelivered messages are carried out one at a time.
  public func reportPipeline(_ source: any MessageSource, marks: CrashMarks? = nil) -> any QueuePipeline {
    BatchPipeline(source: source, work: ReportQueue(self), self, marks: marks)
  }
}
