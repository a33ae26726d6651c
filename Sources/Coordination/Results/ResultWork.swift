import AMQP
import Database
import Messages
import Telemetry

/// The queue of the results.
struct ResultWork: BatchWork {
  /// What a report is about.
  enum Prepared: Sendable {
    case message(ResultReport)
    case operation(OperationReport)
  }

  private let handler: ResultHandler
  private let operations: OperationReportHandler
  private let metrics: CoordinatorMetrics

  init(handler: ResultHandler, operations: OperationReportHandler, metrics: CoordinatorMetrics) {
    self.handler = handler
    self.operations = operations
    self.metrics = metrics
  }

  var queue: String { Topology.Queues.results }

  func prepare(_ delivery: Delivery, at now: UnixTime) -> Preparation<Prepared> {
    do throws(ContractProblem) {
      let envelope = try Envelope(delivery)
      try envelope.expect(ResultHandler.types)
      let body = delivery.message.body
      let prepared: Prepared? =
        envelope.type == ResultHandler.type
        ? try handler.prepare(envelope, body: body).map { .message($0) }
        : try operations.prepare(envelope, body: body).map { .operation($0) }
      return prepared.map { .transaction($0) } ?? .done(.nothing)
    } catch {
      return .done(Conclusion(dead: DeadReason(code: error.code.rawValue, text: error.description)))
    }
  }

  func process(
    _ prepared: Prepared, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Conclusion {
    switch prepared {
    case .message(let report): Conclusion(tally: try handler.handle(report, in: transaction))
    case .operation(let report): Conclusion(tally: try operations.handle(report, in: transaction))
    }
  }

  func giveUp(_ prepared: Prepared, at now: UnixTime) -> Conclusion {
    Conclusion(dead: DeadReason(code: "INTERNAL_ERROR", text: "the result cannot be stored"))
  }

  func count(_ conclusion: Conclusion, took: Duration) {
    metrics.count(conclusion.tally)
  }
}
