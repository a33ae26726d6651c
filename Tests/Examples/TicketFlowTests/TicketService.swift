import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

/// A service with the flows of the page, without a broker.
final class TicketService: EngineBench {
  static let author = Author(appID: "ticket-service", userID: Topology.Users.accounts)
  static let app = "com.example.app"

  private init(_ store: any Store, _ clock: ManualClock, _ sink: MemoryMessageSink) async throws {
    let (metrics, logs) = (MetricsRegistry(), MemorySink())
    let flow = TicketFlow(
      secrets: TicketSecrets(key: Array("a secret of the service".utf8), rounds: 10),
      replyQueue: Topology.Queues.accountsReplies,
      opened: metrics.counter("tickets_opened_total", "Tickets that were opened."))
    super.init(
      EngineContext(
        FlowRegistry([flow, VisitFlow()]), store: store,
        rules: EngineRules(
          commandQueue: Topology.Queues.accountsCommands, reportQueue: Topology.Queues.accountsReplies,
          operators: ["desk"]),
        sink: sink, author: Self.author, clock: clock, metrics: EngineMetrics(metrics),
        logger: Logger(label: "test", sink: logs)),
      clock: clock, sink: sink, registry: metrics, logs: logs, user: "service", isTimed: true)
    try await maintenance.begin()
  }

  /// Runs a body that opens the service, possibly several times, one after the other.
  static func several(_ body: (_ start: () async throws -> TicketService) async throws -> Void) async throws {
    let (clock, sink) = (ManualClock(), makeSink(author))
    try await StoreFile.with { file in try await body { try await TicketService(file.open(), clock, sink) } }
  }

  static func with(_ body: (TicketService) async throws -> Void) async throws {
    try await several { start in try await body(start()) }
  }

  func open(pin: String = "1234") async throws -> String {
    try TicketOpened(json: try await ask(OpenTicket(app: Self.app, holder: "holder@example.com", pin: pin)).body)
      .ticketID
  }

  func status(_ id: String) async throws -> OperationStatus {
    try OperationStatus(json: try await ask(GetOperationStatus(operationID: id)).body)
  }

  func refusal(_ command: some Command) async throws -> APIErrorCode { try await error(command).code }
}
