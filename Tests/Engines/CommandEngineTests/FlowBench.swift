import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import TestSupport
import Testing

@testable import CommandEngine

/// A service with the flow of notes, without a broker: commands and reports go in as deliveries, its publications are
/// looked at.
final class FlowBench {
  static let author = Author(appID: "notes", userID: Topology.Users.coordinator)

  let clock: ManualClock
  let sink: MemoryMessageSink
  let registry = MetricsRegistry()
  let logs = MemorySink()
  let store: FaultyStore
  let stages = StageScript()
  let context: EngineContext
  let maintenance: Maintenance
  private var messages = 0

  init(_ store: any Store, _ clock: ManualClock, _ sink: MemoryMessageSink) {
    self.clock = clock
    self.sink = sink
    self.store = FaultyStore(store)
    let notes = NoteFlow(
      stored: registry.counter("notes_stored_total", "Notes."), stages: stages,
      ended: registry.counter("notes_ended_total", "Notes that expired."),
      rounds: registry.counter("note_rounds_total", "Rounds."))
    context = EngineContext(
      FlowRegistry(
        [notes, OtherFlow()], missingFields: ["text": APIError(.missingPhoneNumber, "is missing", field: "text")]),
      store: self.store,
      rules: EngineRules(
        commandQueue: Topology.Queues.commands, reportQueue: Topology.Queues.results, operators: ["operator"],
        requesters: ["desk"]),
      sink: sink, author: Self.author, clock: clock, metrics: EngineMetrics(registry),
      logger: Logger(label: "test", sink: logs))
    maintenance = Maintenance(context, interval: .seconds(1))
  }

  static func makeSink() -> MemoryMessageSink {
    MemoryMessageSink(user: author.userID, maxBodyBytes: MessageLimits.maxBodyBytes)
  }

  /// Runs a body with a service on a store.
  static func with(
    _ kind: StoreUnderTest = .memory, _ body: (FlowBench) async throws -> Void
  ) async throws {
    try await several(kind) { start in try await body(try await start()) }
  }

  /// Runs a body that starts the service several times on the same data, one after the other.
  static func several(
    _ kind: StoreUnderTest = .memory, _ body: (_ start: () async throws -> FlowBench) async throws -> Void
  ) async throws {
    try await kind.with { data in
      let (clock, sink, started) = (ManualClock(), makeSink(), Started())
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await body {
            let bench = FlowBench(try await data.open(), clock, sink)
            started.benches.append(bench)
            try await bench.maintenance.begin()
            return bench
          })
      } catch {
        result = .failure(error)
      }
      for bench in started.benches { await bench.die() }
      try result.get()
    }
  }

  private final class Started {
    var benches: [FlowBench] = []
  }

  /// Ends as a process does that is killed.
  func die() async { await store.close() }

  // MARK: In

  func message(
    _ command: some Command, id: String? = nil, replyTo: String? = "amq.gen-replies", user: String? = nil,
    sentAt: UnixTime? = nil
  ) throws -> Message {
    messages += 1
    let envelope = Envelope(
      type: type(of: command).type, messageID: id ?? "m\(messages)", correlationID: "c\(messages)", replyTo: replyTo,
      timestamp: sentAt, userID: user)
    return envelope.message(body: try command.json())
  }

  /// A `note.put` whose ID is its text.
  func note(
    _ text: String, _ sends: PutNote.Sending..., id: String? = nil, replyTo: String? = "amq.gen-replies"
  ) throws -> Message {
    try message(PutNote(text: text, sends: sends.isEmpty ? nil : sends), id: id ?? text, replyTo: replyTo)
  }

  func pipeline(
    _ source: MemoryMessageSource, marks: CrashMarks? = nil, prefetch: Int = Turn.sharedPrefetch
  ) -> BatchPipeline<CommandQueue> {
    BatchPipeline(
      source: source, work: CommandQueue(context), context, marks: marks, prefetch: prefetch,
      retryDelays: .zero...(.zero))
  }

  /// Delivers commands in batches, and waits until all is published and settled.
  @discardableResult
  func deliver(batches: [[Message]], marks: CrashMarks? = nil) async -> MemoryMessageSource {
    let source = MemoryMessageSource(batches.map { $0.map { Delivery(message: $0) } })
    await pipeline(source, marks: marks).run()
    return source
  }

  @discardableResult
  func deliver(_ messages: Message...) async -> MemoryMessageSource { await deliver(batches: [messages]) }

  /// Delivers notes in batches.
  @discardableResult
  func put(_ batches: [[String]]) async throws -> MemoryMessageSource {
    await deliver(batches: try batches.map { batch in try batch.map { try note($0) } })
  }

  @discardableResult
  func deliver(reports: [Delivery]) async -> MemoryMessageSource {
    let source = MemoryMessageSource([reports])
    await BatchPipeline(source: source, work: ReportQueue(context), context, retryDelays: .zero...(.zero)).run()
    return source
  }

  /// Sends a command and takes its reply.
  func ask(
    _ command: some Command, id: String? = nil, user: String? = nil, sentAt: UnixTime? = nil
  ) async throws -> Message {
    _ = sink.takePublished()
    await deliver(try message(command, id: id, user: user, sentAt: sentAt))
    return try #require(replies.first)
  }

  func error(_ command: some Command, user: String? = nil) async throws -> APIError {
    try ErrorReply(json: try await ask(command, user: user).body).error
  }

  // MARK: Out

  var replies: [Message] { sink.published.filter { $0.exchange.isEmpty }.map(\.message) }
  var dead: [Message] { published(on: Topology.Exchanges.dead).map(\.message) }
  var deadReasons: [FieldValue?] { dead.map { $0.headers[MessageHeader.deadReason] } }
  var jobs: [Message] { published(on: Topology.Exchanges.jobs).map(\.message) }
  var events: [Message] { published(on: Topology.Exchanges.events).map(\.message) }

  func published(on exchange: String) -> [Publication] { sink.published.filter { $0.exchange == exchange } }

  /// Whether a command has an entry in the inbox.
  func entry(_ messageID: String, of user: String = SenderRule.unnamed) async throws -> InboxEntry? {
    let key = try InboxKey(MessageIdentity(sender: user, messageID: messageID).key)
    return try await store.store.read(keys(messages: [key]), at: clock.now()).message(key)
  }

  /// Number of recorded commands among these.
  func recorded(_ messageIDs: [String]) async throws -> Int {
    var count = 0
    for id in messageIDs where try await entry(id) != nil { count += 1 }
    return count
  }

  func stored(_ text: String) async throws -> Record? {
    try await store.store.found(try id(text, NoteFlow.kind))
  }

  /// Messages in the outbox.
  func outbox() async throws -> Int { try await store.figures().messages }

  /// Value of a metric.
  func metric(_ name: String) -> Double? {
    registry.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
      .flatMap { Double($0.dropFirst(name.count + 1)) }
  }

  func logged(_ text: String) -> Int { logs.events.count { "\($0.message)".contains(text) } }
}
