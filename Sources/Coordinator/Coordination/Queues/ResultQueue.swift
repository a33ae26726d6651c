import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import Synchronization

/// Handles the queue of the results.
struct ResultQueue: BatchQueue {
  /// A parsed report, by its subject.
  enum Prepared: Sendable {
    case message(ResultReport)
    case delivery(ReceivedDelivery)
    case operation(OperationReport)
  }

  private let handler: ResultHandler
  private let deliveries: DeliveryReportHandler
  private let operations: OperationReports
  private let metrics: CoordinatorMetrics
  private let foreign: ForeignResults
  private let origin: ResultOrigin

  init(
    handler: ResultHandler, deliveries: DeliveryReportHandler, operations: OperationReports,
    origin: ResultOrigin, metrics: CoordinatorMetrics, logger: Logger, clock: any WallClock
  ) {
    self.origin = origin
    self.handler = handler
    self.deliveries = deliveries
    self.operations = operations
    self.metrics = metrics
    foreign = ForeignResults(metrics: metrics, logger: logger, clock: clock)
  }

  var queue: String { Topology.Queues.results }

  func sender(of message: Message) -> String { origin.sender(of: message) }

  func prepare(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<Prepared> {
    do throws(ContractProblem) {
      let envelope = try Envelope(delivery)
      guard !ForeignResults.isOne(envelope.type) else {
        foreign.note(envelope.type)
        return .done(.nothing)
      }
      try envelope.expect(ResultHandler.types)
      guard case .ours(let outcome) = try origin.judge(delivery, envelope) else {
        foreign.note(envelope.type)
        return .done(.nothing)
      }
      return try prepared(envelope, delivery.message.body, outcome).map { .transaction($0) } ?? .done(.nothing)
    } catch {
      if error.code == .forgedResult { metrics.forgedResults.increment() }
      return .done(Conclusion(dead: DeadReason(code: error.code.rawValue, text: error.description)))
    }
  }

  private func prepared(
    _ envelope: Envelope, _ body: [UInt8], _ outcome: String?
  ) throws(ContractProblem) -> Prepared? {
    switch envelope.type {
    case ResultHandler.type: try handler.prepare(envelope, body: body, outcome: outcome).map { .message($0) }
    case SMSDeliveryReport.type: try deliveries.prepare(envelope, body: body, outcome: outcome).map { .delivery($0) }
    default: try operations.prepare(envelope, body: body, outcome: outcome).map { .operation($0) }
    }
  }

  func process(
    _ prepared: Prepared, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Conclusion {
    switch prepared {
    case .message(let report): try handler.handle(report, in: transaction)
    case .delivery(let delivery): try deliveries.handle(delivery, in: transaction)
    case .operation(let report): try operations.handle(report, in: transaction)
    }
    return .nothing
  }

  func giveUp(_ prepared: Prepared, at now: UnixTime) -> Conclusion {
    Conclusion(dead: DeadReason(code: "INTERNAL_ERROR", text: "the result cannot be stored"))
  }

  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion {
    Conclusion(dead: .crashed)
  }
}

/// Results of other senders' jobs. The results of a job type arrive in one queue, whoever sent the job; the coordinator
/// counts and acknowledges foreign ones, since dead letters would bury the important ones.
final class ForeignResults: Sendable {
  private let metrics: CoordinatorMetrics
  private let logger: Logger
  private let clock: any WallClock
  private let lastNote = Mutex<UnixTime?>(nil)

  /// Interval of log entries: there may be millions.
  static let notePause = Duration.seconds(600)

  init(metrics: CoordinatorMetrics, logger: Logger, clock: any WallClock) {
    self.metrics = metrics
    self.logger = logger
    self.clock = clock
  }

  /// Whether a type is the result of a job of which no version is known here. An unknown version of a known type is not
  /// foreign: it may belong to a job of ours.
  static func isOne(_ type: MessageType) -> Bool {
    type.name.hasSuffix(suffix) && !ResultHandler.types.contains { $0.name == type.name }
  }

  private static let suffix = ".result"

  func note(_ type: MessageType) {
    metrics.foreignResults.increment()
    let now = clock.now()
    let isDue = lastNote.withLock { last in
      if let last, now < last + Self.notePause, last <= now { return false }
      last = now
      return true
    }
    guard isDue else { return }
    logger.info("results of other senders' jobs are passed over", ["type": "\(type.text)"])
  }
}
