import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import JobEngine
import ServiceRuntime

/// Publishes the delivery reports that arrive on providers' own connections, on a broker connection of its own.
struct SessionReportForwarder: Service, SessionReportSink {
  let name = "smpp.receipts"
  private let connection: Publisher
  private let publisher: ReportPublisher
  private let origins: ReportOrigins
  private let metrics: ReportMetrics
  private let clock: any WallClock

  init?(
    for configuration: SMSWorkerConfiguration, _ context: ServiceContext
  ) async throws(WorkerError) {
    guard !configuration.lanesMatchedByReference.isEmpty else { return nil }
    let logger = ThrottledLog(context.logger, clock: context.clocks.monotonic)
    origins = ReportOrigins(ledger: try await configuration.worker.ledger.open(for: context.instance), logger: logger)
    let broker = BrokerConnectionSettings(configuration.common.broker, context)
    let connection = Publisher(
      endpoint: broker.endpoint, options: broker.options(name), onEvent: broker.observer(name))
    broker.watch(name) { connection.status }
    self.connection = connection
    publisher = ReportPublisher(
      sink: connection, author: Author(appID: context.name, userID: broker.endpoint.username), logger: logger)
    metrics = ReportMetrics(context.metrics)
    clock = context.clock
  }

  func run() async {
    await connection.run()
    await origins.close()
  }

  func stop() async { await connection.stopPromptly() }

  func take(_ report: SessionReport) async -> Bool {
    await TrialGate.process.aside { await forward(report) }
  }

  private func forward(_ report: SessionReport) async -> Bool {
    let state: SMSDeliveryReport.State
    switch report.state {
    case .delivered: state = .delivered
    case .undelivered: state = .undelivered
    case .pending, .unknown:
      metrics.countProgress(lane: report.lane)
      return true
    }
    let subject: ReportAddresses.Subject?
    do {
      subject = try await origins.subject(of: report)
    } catch {
      metrics.countUnpublished(lane: report.lane)
      return false
    }
    let delivery = SMSDeliveryReport(
      jobID: subject?.job.messageID, state: state, lane: report.lane, reference: report.reference,
      reason: report.reason.map(JobResult.Reason.init), at: report.at)
    let pending = PendingReport(
      delivery: delivery, correlationID: subject?.correlationID, sender: subject?.job.sender)
    guard await publisher.publish(pending, now: clock.now()) else {
      metrics.countUnpublished(lane: report.lane)
      return false
    }
    metrics.countTaken(delivery)
    return true
  }
}

/// Resolves the job that a report on a provider's own connection is about: from the session if it sent the message,
/// otherwise (sent before a restart, or by another worker that shares the ledger) from the ledger.
struct ReportOrigins: Sendable {
  let ledger: any Ledger
  let logger: ThrottledLog

  func subject(of report: SessionReport) async throws(StoreError) -> ReportAddresses.Subject? {
    if let job = report.job {
      return ReportAddresses.Subject(job: job, correlationID: report.correlationID)
    }
    do {
      let job = try await ledger.job(matching: LedgerMatch(lane: report.lane, reference: report.reference))
      return job.map { ReportAddresses.Subject(job: $0.job, correlationID: $0.correlationID) }
    } catch {
      logger.warning("the ledger cannot resolve the job of a delivery report", [.error: error.description])
      if error.isRetriable { throw error }
      return nil
    }
  }

  func close() async { await ledger.close() }
}
