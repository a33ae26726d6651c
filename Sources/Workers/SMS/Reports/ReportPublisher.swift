import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import JobEngine

struct ReportPublisher: Sendable {
  let sink: any MessageSink
  let author: Author
  let logger: ThrottledLog

  /// The provider waits meanwhile, and its report occupies memory and a connection, which would last as long as an
  /// outage of the broker. Providers repeat reports, and the message ID makes them idempotent.
  static let timeout: Duration = .seconds(5)

  func publish(_ report: PendingReport, now: UnixTime) async -> Bool {
    // A publisher without a connection would wait for one, and reports would pile up. The provider keeps them instead.
    guard sink.isReady else { return false }
    do {
      let outcomes = try await sink.publish([try publication(report, now)], timeout: Self.timeout)
      guard outcomes == [.confirmed] else {
        logger.error(
          "the broker did not accept a delivery report",
          [.routingKey: report.delivery.routingKey, .hint: "check the topology: countersign topology check"])
        return false
      }
      return true
    } catch let error as AMQPError {
      logger.warning("a delivery report could not be published", [.error: error.description])
    } catch {
      logger.error("a delivery report could not be written", [.error: "\(error)"])
    }
    return false
  }

  private func publication(_ report: PendingReport, _ now: UnixTime) throws(ContractProblem) -> Publication {
    let delivery = report.delivery
    var envelope = Envelope(
      type: SMSDeliveryReport.type, messageID: delivery.messageID, correlationID: report.correlationID, timestamp: now,
      appID: author.appID, userID: author.userID)
    envelope.statedSender = report.sender ?? SenderRule.unnamed
    envelope.causationID = delivery.jobID
    return Publication(
      message: envelope.message(body: try delivery.json()), exchange: Topology.Exchanges.results,
      routingKey: delivery.routingKey)
  }
}

struct ReportMetrics: Sendable {
  private let reports: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    reports = registry.counter(
      "countersign_sms_receipts_total",
      "Delivery reports of providers: delivered, undelivered, progress, forged, stale, malformed, unknown_lane, unpublished (the provider repeats it).",
      labels: ["lane", "kind"])
  }

  func countTaken(_ delivery: SMSDeliveryReport) { reports.with(delivery.lane, delivery.state.rawValue).increment() }
  func countProgress(lane: String) { reports.with(lane, "progress").increment() }
  func countUnpublished(lane: String) { reports.with(lane, "unpublished").increment() }
  func countRefused(_ refusal: ReportRefusal, lane: String?) {
    reports.with(lane ?? "other", refusal.rawValue).increment()
  }
}
