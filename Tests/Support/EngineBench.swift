public import CommandEngine
public import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry

/// A stateful service without a broker: commands and reports go in as deliveries, its publications are looked at.
///
/// The tests of a service derive their bench from it, and add its flows and the calls that they repeat.
open class EngineBench {
  public let clock: ManualClock
  public let sink: MemoryMessageSink
  public let registry: MetricsRegistry
  public let logs: MemorySink
  /// Store, outbox and flows as they were made. ``context`` is what is used.
  public var engine: EngineContext
  private let maintained: Maintenance
  private let user: String?
  private let isTimed: Bool
  private var messages = 0

  open var context: EngineContext { engine }
  open var maintenance: Maintenance { maintained }

  /// - Parameters:
  ///   - engine: a context that publishes to `sink`.
  ///   - user: the user of the broker that commands come from, unless a test names another.
  ///   - isTimed: whether commands say when they were sent.
  public init(
    _ engine: EngineContext, clock: ManualClock, sink: MemoryMessageSink, registry: MetricsRegistry, logs: MemorySink,
    user: String? = nil, isTimed: Bool = false
  ) {
    self.engine = engine
    self.clock = clock
    self.sink = sink
    self.registry = registry
    self.logs = logs
    self.user = user
    self.isTimed = isTimed
    maintained = Maintenance(engine, interval: .seconds(1))
  }

  /// A publisher under the user of an author.
  public static func makeSink(_ author: Author) -> MemoryMessageSink {
    MemoryMessageSink(user: author.userID, maxBodyBytes: EngineServices.maxBodyBytes)
  }

  /// Ends as a process does that is killed.
  public func die() async { await context.store.close() }

  /// The pipeline that commands are delivered to.
  open func commandPipeline(_ source: MemoryMessageSource) -> any QueuePipeline { context.commandPipeline(source) }

  /// The pipeline that results and replies are delivered to.
  open func reportPipeline(_ source: MemoryMessageSource) -> any QueuePipeline { context.reportPipeline(source) }

  /// An ID that no message of this bench has.
  public func nextID() -> String {
    messages += 1
    return "m\(messages)"
  }

  /// A command as a service sends it.
  public func message(
    _ command: some Command, id: String? = nil, replyTo: String? = "amq.gen-replies", user: String? = nil,
    sentAt: UnixTime? = nil
  ) throws -> Message {
    let next = nextID()
    let envelope = Envelope(
      type: type(of: command).type, messageID: id ?? next, correlationID: "c" + next.dropFirst(), replyTo: replyTo,
      timestamp: sentAt ?? (isTimed ? clock.now() : nil), userID: user ?? self.user)
    return envelope.message(body: try command.json())
  }

  /// Delivers commands in batches, and waits until all is published and settled.
  @discardableResult
  public func deliver(batches: [[Delivery]]) async -> MemoryMessageSource {
    let source = MemoryMessageSource(batches)
    await commandPipeline(source).run()
    return source
  }

  /// Delivers commands in batches, and waits until all is published and settled.
  @discardableResult
  public func deliver(batches: [[Message]]) async -> MemoryMessageSource {
    await deliver(batches: batches.map { batch in batch.map { Delivery(message: $0) } })
  }

  /// Delivers commands in one batch, and waits until all is published and settled.
  @discardableResult
  public func deliver(_ deliveries: [Delivery]) async -> MemoryMessageSource { await deliver(batches: [deliveries]) }

  /// Delivers commands in one batch, and waits until all is published and settled.
  @discardableResult
  public func deliver(_ messages: [Message]) async -> MemoryMessageSource { await deliver(batches: [messages]) }

  /// Delivers commands in one batch, and waits until all is published and settled.
  @discardableResult
  public func deliver(_ messages: Message...) async -> MemoryMessageSource { await deliver(batches: [messages]) }

  /// Delivers reports in one batch, and waits until all is published and settled.
  @discardableResult
  public func deliver(reports: [Delivery]) async -> MemoryMessageSource {
    let source = MemoryMessageSource([reports])
    await reportPipeline(source).run()
    return source
  }

  /// Delivers reports, and forgets what was published before.
  public func report(_ deliveries: Delivery...) async {
    _ = sink.takePublished()
    await deliver(reports: deliveries)
  }

  /// Sends a command, and forgets what was published before.
  /// - Returns: its reply; `nil` when there is none yet.
  public func send(_ message: Message) async -> Message? {
    _ = sink.takePublished()
    await deliver(message)
    return replies.first
  }

  /// Sends a command, and forgets what was published before.
  /// - Returns: its reply; `nil` when there is none yet.
  public func send(
    _ command: some Command, id: String? = nil, user: String? = nil, sentAt: UnixTime? = nil
  ) async throws -> Message? {
    await send(try message(command, id: id, user: user, sentAt: sentAt))
  }

  /// Sends a command, forgets what was published before, and takes its reply.
  public func ask(_ message: Message) async throws -> Message {
    guard let reply = await send(message) else {
      throw NeverHappened(description: "no reply to \(message.type ?? "")")
    }
    return reply
  }

  /// Sends a command, forgets what was published before, and takes its reply.
  public func ask(
    _ command: some Command, id: String? = nil, user: String? = nil, sentAt: UnixTime? = nil
  ) async throws -> Message {
    try await ask(message(command, id: id, user: user, sentAt: sentAt))
  }

  /// Sends a command, and takes the error that it is refused with.
  public func error(_ command: some Command, id: String? = nil, user: String? = nil) async throws -> APIError {
    let reply = try await ask(command, id: id, user: user)
    guard reply.type == ErrorReply.type.text else {
      throw NeverHappened(description: "no refusal: \(reply.type ?? "")")
    }
    return try ErrorReply(json: reply.body).error
  }

  public var replies: [Message] { sink.published.filter { $0.exchange.isEmpty }.map(\.message) }

  public func published(on exchange: String) -> [Publication] { sink.published.filter { $0.exchange == exchange } }

  /// Value of a metric.
  public func metric(_ name: String) -> Double? {
    registry.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
      .flatMap { Double($0.dropFirst(name.count + 1)) }
  }

  /// The number of lines in the log that contain a text.
  public func logged(_ text: String) -> Int { logs.events.count { "\($0.message)".contains(text) } }
}
