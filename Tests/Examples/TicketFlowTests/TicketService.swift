import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

/// Stores that the service runs on.
enum ServiceStore: String, CaseIterable, CustomTestStringConvertible {
  case memory, sqlite

  var testDescription: String { rawValue }
}

/// A service with the flow of tickets, without a broker: commands and reports go in as deliveries, its publications are
/// looked at.
final class TicketService {
  static let author = Author(appID: "ticket-service", userID: Topology.Users.accounts)
  static let app = "com.example.app"

  let clock: ManualClock
  let sink: MemoryMessageSink
  let metrics = MetricsRegistry()
  let context: EngineContext
  let maintenance: Maintenance
  private var messages = 0

  private init(_ store: any Store, _ clock: ManualClock, _ sink: MemoryMessageSink) async throws {
    self.clock = clock
    self.sink = sink
    let flow = TicketFlow(
      secrets: TicketSecrets(key: Array("a secret of the service".utf8), rounds: 10),
      replyQueue: Topology.Queues.accountsReplies,
      opened: metrics.counter("tickets_opened_total", "Tickets that were opened."))
    context = EngineContext(
      FlowRegistry([flow]), store: store,
      rules: EngineRules(
        commandQueue: Topology.Queues.accountsCommands, reportQueue: Topology.Queues.accountsReplies,
        operators: ["desk"]),
      sink: sink, author: Self.author, clock: clock, metrics: EngineMetrics(metrics),
      logger: Logger(label: "test", sink: MemorySink()))
    maintenance = Maintenance(context, interval: .seconds(1))
    try await maintenance.begin()
  }

  /// Runs a body that opens the service, possibly several times, one after the other.
  static func with(
    _ kind: ServiceStore, _ body: (_ start: () async throws -> TicketService) async throws -> Void
  ) async throws {
    let (clock, sink) = (ManualClock(), MemoryMessageSink(user: author.userID))
    switch kind {
    case .memory:
      let contents = MemoryStore.Contents()
      try await body { try await TicketService(MemoryStore(contents), clock, sink) }
    case .sqlite:
      let directory = FileManager.default.temporaryDirectory.appending(path: "tickets-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let path = directory.appending(path: "tickets.sqlite").path(percentEncoded: false)
      try await body { try await TicketService(SQLiteStore.open(path: path), clock, sink) }
    }
  }

  /// Ends as a process does that is killed.
  func die() async { await context.store.close() }

  // MARK: In

  func message(_ command: some Command, id: String? = nil, user: String = "service") throws -> Message {
    messages += 1
    let envelope = Envelope(
      type: type(of: command).type, messageID: id ?? "m\(messages)", correlationID: "c\(messages)",
      replyTo: "amq.gen-replies", timestamp: clock.now(), userID: user)
    return envelope.message(body: try command.json())
  }

  /// Delivers commands in one batch, and waits until all is published and settled.
  @discardableResult
  func deliver(_ messages: Message...) async -> MemoryMessageSource {
    let source = MemoryMessageSource([messages.map { Delivery(message: $0) }])
    await context.commandPipeline(source).run()
    return source
  }

  /// - Returns: the reply; `nil` when there is none yet.
  func ask(_ command: some Command, id: String? = nil, user: String = "service") async throws -> Message? {
    _ = sink.takePublished()
    await deliver(try message(command, id: id, user: user))
    return replies.first
  }

  func open(pin: String = "1234") async throws -> String {
    let reply = try await ask(OpenTicket(app: Self.app, holder: "holder@example.com", pin: pin))
    return try TicketOpened(json: try #require(reply).body).ticketID
  }

  func status(_ id: String) async throws -> OperationStatus {
    try OperationStatus(json: try #require(try await ask(GetOperationStatus(operationID: id))).body)
  }

  func error(_ command: some Command, user: String = "service") async throws -> APIErrorCode {
    try ErrorReply(json: try #require(try await ask(command, user: user)).body).error.code
  }

  /// Delivers a report, and forgets what was published before.
  func report(_ delivery: Delivery) async {
    _ = sink.takePublished()
    await context.reportPipeline(MemoryMessageSource([[delivery]])).run()
  }

  // MARK: Out

  var replies: [Message] { sink.published.filter { $0.exchange.isEmpty }.map(\.message) }

  func published(on exchange: String) -> [Publication] { sink.published.filter { $0.exchange == exchange } }
}
