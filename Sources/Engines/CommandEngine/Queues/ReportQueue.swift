import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Synchronization

/// The queue of the reports: checks where a report comes from, reads it, and applies it to its operation.
///
/// ``BatchPipeline`` calls it in this order for each batch.
struct ReportQueue: BatchQueue {
  /// A report that was read, with the properties of its message.
  final class Received: Sendable {
    let envelope: Envelope
    let report: any Report

    init(envelope: Envelope, report: any Report) {
      self.envelope = envelope
      self.report = report
    }
  }

  private let context: EngineContext
  private let origin: ReportOrigin
  private let foreign: ForeignReports

  init(_ context: EngineContext) {
    self.context = context
    origin = ReportOrigin(context.registry.reportKinds, user: context.author.userID)
    foreign = ForeignReports(context)
  }

  var queue: String { context.rules.reportQueue }

  func sender(of message: Message) -> String { origin.sender(of: message) }

  // MARK: Decode

  func prepare(_ delivery: Delivery, at now: UnixTime, isNew: Bool) -> PreparedDelivery<Received> {
    do throws(ContractProblem) {
      let envelope = try Envelope(delivery)
      guard !isForeign(envelope.type) else { return passOver(envelope.type) }
      try envelope.expect(context.registry.reportTypes)
      guard case .ours(let kinds, let outcome) = try origin.judge(delivery, envelope) else {
        return passOver(envelope.type)
      }
      let received = ReceivedReport(envelope: envelope, body: delivery.message.body, outcome: outcome)
      for kind in kinds {
        if let report = try kind.read(received) { return .transaction(Received(envelope: envelope, report: report)) }
      }
      return .done(.nothing)
    } catch {
      if error.code == .forgedResult { context.metrics.forgedResults.increment() }
      return .done(Conclusion(dead: DeadReason(code: error.code.rawValue, text: error.description)))
    }
  }

  /// Whether a type is the result of a job of which no version is known here. An unknown version of a known type is not
  /// foreign: it may belong to a job of ours.
  private func isForeign(_ type: MessageType) -> Bool {
    type.name.hasSuffix(Self.resultSuffix) && !context.registry.reports.keys.contains { $0.name == type.name }
  }

  private static let resultSuffix = ".result"

  private func passOver(_ type: MessageType) -> PreparedDelivery<Received> {
    foreign.note(type)
    return .done(.nothing)
  }

  // MARK: Load

  func addKeys(of received: Received, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try received.report.addKeys(to: &keys, at: now)
  }

  func addMoreKeys(of received: Received, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try received.report.addMoreKeys(to: &keys, from: set)
  }

  // MARK: Apply

  func process(_ received: Received, in set: inout WorkingSet) throws(StoreError) -> Conclusion {
    try received.report.apply(cause: received.envelope, in: &set)
    return .nothing
  }

  func staged(_ received: Received, _ order: any CommandOrder) -> Received { received }

  func giveUp(_ received: Received, at now: UnixTime) -> Conclusion {
    Conclusion(dead: DeadReason(code: "INTERNAL_ERROR", text: "the result cannot be stored"))
  }

  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion {
    Conclusion(dead: .crashed)
  }
}

/// Results of other senders' jobs. The results of a job type arrive in one queue, whoever sent the job; foreign ones are
/// counted and acknowledged, since dead letters would bury the important ones.
final class ForeignReports: Sendable {
  private let context: (metrics: EngineMetrics, logger: Logger, clock: any WallClock)
  private let lastNote = Mutex<UnixTime?>(nil)

  /// Interval of log entries: there may be millions.
  static let notePause = Duration.seconds(600)

  init(_ context: EngineContext) {
    self.context = (context.metrics, context.logger, context.clock)
  }

  func note(_ type: MessageType) {
    context.metrics.foreignResults.increment()
    let now = context.clock.now()
    let isDue = lastNote.withLock { last in
      if let last, now < last + Self.notePause, last <= now { return false }
      last = now
      return true
    }
    guard isDue else { return }
    context.logger.info("results of other senders' jobs are passed over", ["type": "\(type.text)"])
  }
}
