import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
public import JobEngine
public import ServiceRuntime

/// Publishes the receipts that come on providers' own connections, on a connection of its own.
public struct ReceiptForwarder: Service, ReceiptSink {
  public let name = "smpp.receipts"
  private let connection: Publisher
  private let publisher: ReceiptPublisher
  private let origins: ReceiptOrigins
  private let metrics: ReceiptMetrics
  private let clock: any WallClock

  /// - Returns: nil when no lane brings such receipts.
  /// - Throws: what an operator has to mend: the ledger's file.
  public init?(
    for configuration: SMSWorkerConfiguration, _ context: ServiceContext
  ) async throws(WorkerError) {
    guard !configuration.lanesMatchedByReference.isEmpty else { return nil }
    let log = ThrottledLog(context.log, clock: context.clocks.monotonic)
    origins = ReceiptOrigins(ledger: try await configuration.worker.ledger.open(), log: log)
    let broker = BrokerConnectionSettings(configuration.common.broker, context)
    let connection = Publisher(
      endpoint: broker.endpoint, options: broker.options(name), onEvent: broker.observer(name))
    broker.watch(name) { connection.status }
    self.connection = connection
    publisher = ReceiptPublisher(
      sink: connection, author: Author(appID: context.name, userID: broker.endpoint.username), log: log)
    metrics = ReceiptMetrics(context.metrics)
    clock = context.clock
  }

  public func run() async {
    await connection.run()
    await origins.close()
  }

  public func stop() async { await connection.stopPromptly() }

  public func take(_ receipt: DeliveryReceipt) async -> Bool {
    await TrialGate.process.aside { await forward(receipt) }
  }

  private func forward(_ receipt: DeliveryReceipt) async -> Bool {
    let state: SMSDeliveryReport.State
    switch receipt.state {
    case .delivered: state = .delivered
    case .undelivered: state = .undelivered
    case .pending, .unknown:
      // Nothing that anybody waits for.
      metrics.progress(lane: receipt.lane)
      return true
    }
    let subject: CallbackAddresses.Subject?
    do {
      subject = try await origins.subject(of: receipt)
    } catch {
      metrics.lost(lane: receipt.lane)
      return false
    }
    let delivery = SMSDeliveryReport(
      jobID: subject?.job.messageID, state: state, lane: receipt.lane, reference: receipt.reference,
      reason: receipt.reason.map(JobResult.Reason.init), at: receipt.at)
    let pending = PendingReceipt(
      delivery: delivery, correlationID: subject?.correlationID, sender: subject?.job.sender)
    guard await publisher.publish(pending, now: clock.now()) else {
      metrics.lost(lane: receipt.lane)
      return false
    }
    metrics.taken(delivery)
    return true
  }
}
