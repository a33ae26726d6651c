import AMQP
import Database
import Messages
import Telemetry

/// The queue of the results.
struct ResultWork: BatchWork {
  typealias Prepared = ResultReport

  private let handler: ResultHandler
  private let metrics: CoordinatorMetrics

  init(handler: ResultHandler, metrics: CoordinatorMetrics) {
    self.handler = handler
    self.metrics = metrics
  }

  var queue: String { Topology.Queues.results }

  func prepare(_ delivery: Delivery, at now: UnixTime) -> Preparation<ResultReport> {
    do throws(ContractProblem) {
      let envelope = try Envelope(delivery)
      try envelope.expect([ResultHandler.type])
      let report = try handler.prepare(envelope, body: delivery.message.body)
      return report.map { .transaction($0) } ?? .done(.nothing)
    } catch {
      return .done(Conclusion(dead: DeadReason(code: error.code.rawValue, text: error.description)))
    }
  }

  func process(
    _ prepared: ResultReport, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Conclusion {
    Conclusion(tally: try handler.handle(prepared, in: transaction))
  }

  func giveUp(_ prepared: ResultReport, at now: UnixTime) -> Conclusion {
    Conclusion(dead: DeadReason(code: "INTERNAL_ERROR", text: "the result cannot be stored"))
  }

  func count(_ conclusion: Conclusion, took: Duration) {
    metrics.count(conclusion.tally)
  }
}
