import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import JobEngine

/// Publishes what providers report, with the results of the jobs.
struct ReceiptPublisher: Sendable {
  let sink: any MessageSink
  let author: Author
  let log: ThrottledLog

  /// How long the broker may take. The provider waits meanwhile, and its report takes up memory and a connection: in the middle of a loss
  /// of the broker that would go on until it is back. Providers come again, and twice is once by the message ID.
  static let timeout: Duration = .seconds(5)

  /// - Returns: whether the broker is known to have it.
  func publish(_ receipt: PendingReceipt, now: UnixTime) async -> Bool {
    // A publisher without a connection would wait for one, and the reports of an outage would pile up: the provider keeps them.
    guard sink.isReady else { return false }
    do {
      let outcomes = try await sink.publish([try publication(receipt, now)], timeout: Self.timeout)
      guard outcomes == [.confirmed] else {
        log.error(
          "a delivery report was not taken by the broker",
          [.routingKey: receipt.delivery.routingKey, .hint: "check the topology: countersign topology check"])
        return false
      }
      return true
    } catch let error as AMQPError {
      log.warning("a delivery report could not be published", [.error: error.description])
    } catch {
      log.error("a delivery report could not be written", [.error: "\(error)"])
    }
    return false
  }

  private func publication(_ receipt: PendingReceipt, _ now: UnixTime) throws(ContractProblem) -> Publication {
    let delivery = receipt.delivery
    var envelope = Envelope(
      type: SMSDeliveryReport.type, messageID: delivery.messageID, correlationID: receipt.correlationID, timestamp: now,
      appID: author.appID, userID: author.userID)
    envelope.statedSender = receipt.sender ?? SenderRule.unnamed
    envelope.causationID = delivery.jobID
    return Publication(
      message: envelope.message(body: try delivery.json()), exchange: Topology.Exchanges.results,
      routingKey: delivery.routingKey)
  }
}
