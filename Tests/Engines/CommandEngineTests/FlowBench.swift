import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// A service with the flow of notes, without a broker.
final class FlowBench: EngineBench {
  static let author = Author(appID: "notes", userID: Topology.Users.coordinator)

  let store: FaultyStore
  let stages = StageScript()
  let runs = RunLog()
  private var file: StoreFile?

  init(_ store: any Store, _ clock: ManualClock = ManualClock(), _ sink: MemoryMessageSink = makeSink()) {
    let (registry, logs) = (MetricsRegistry(), MemorySink())
    self.store = FaultyStore(store)
    let notes = NoteFlow(
      stored: registry.counter("notes_stored_total", "Notes."), stages: stages, runs: runs,
      ended: registry.counter("notes_ended_total", "Notes that expired."),
      rounds: registry.counter("note_rounds_total", "Rounds."))
    super.init(
      EngineContext(
        FlowRegistry(
          [notes, OtherFlow()], missingFields: ["text": APIError(.missingPhoneNumber, "is missing", field: "text")]),
        store: self.store,
        rules: EngineRules(
          commandQueue: Topology.Queues.commands, reportQueue: Topology.Queues.results, operators: ["operator"],
          requesters: ["desk"]),
        sink: sink, author: Self.author, clock: clock, metrics: EngineMetrics(registry),
        logger: Logger(label: "test", sink: logs)),
      clock: clock, sink: sink, registry: registry, logs: logs)
  }

  /// On a file of its own, which goes with the bench.
  convenience init() async throws {
    let file = try StoreFile()
    self.init(try await file.open())
    self.file = file
    try await maintenance.begin()
  }

  static func makeSink() -> MemoryMessageSink {
    MemoryMessageSink(user: author.userID, maxBodyBytes: MessageLimits.maxBodyBytes)
  }

  static func with(
    _ kind: StoreUnderTest = .sqlite, _ body: (FlowBench) async throws -> Void
  ) async throws {
    try await several(kind) { start in try await body(try await start()) }
  }

  /// Runs a body that starts the service several times on the same data, one after the other.
  static func several(
    _ kind: StoreUnderTest = .sqlite, _ body: (_ start: () async throws -> FlowBench) async throws -> Void
  ) async throws {
    try await kind.with { data in
      let (clock, sink) = (ManualClock(), makeSink())
      try await body {
        let bench = FlowBench(try await data.open(), clock, sink)
        try await bench.maintenance.begin()
        return bench
      }
    }
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

  override func commandPipeline(_ source: MemoryMessageSource) -> any QueuePipeline { pipeline(source) }

  override func reportPipeline(_ source: MemoryMessageSource) -> any QueuePipeline {
    BatchPipeline(source: source, work: ReportQueue(context), context, retryDelays: .zero...(.zero))
  }

  @discardableResult
  func put(_ batches: [[String]]) async throws -> MemoryMessageSource {
    await deliver(batches: try batches.map { batch in try batch.map { try note($0) } })
  }

  var dead: [Message] { published(on: Topology.Exchanges.dead).map(\.message) }
  var deadReasons: [FieldValue?] { dead.map { $0.headers[MessageHeader.deadReason] } }
  var jobs: [Message] { published(on: Topology.Exchanges.jobs).map(\.message) }
  var events: [Message] { published(on: Topology.Exchanges.events).map(\.message) }

  func entry(_ messageID: String, of user: String = SenderRule.unnamed) async throws -> InboxEntry? {
    let key = try InboxKey(MessageIdentity(sender: user, messageID: messageID).key)
    return try await store.store.read(keys(messages: [key]), at: clock.now()).message(key)
  }

  func recorded(_ messageIDs: [String]) async throws -> Int {
    var count = 0
    for id in messageIDs where try await entry(id) != nil { count += 1 }
    return count
  }

  func stored(_ text: String) async throws -> Record? {
    try await store.store.found(try id(text, NoteFlow.kind))
  }

  func outbox() async throws -> Int { try await store.figures().messages }
}
