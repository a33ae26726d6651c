import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import RecordStore

/// Publishes leftovers: messages that an earlier process left, that the broker did not take, that the maintenance made,
/// and that waited for a reply in vain.
public final class OutboxRelay: Sendable {
  private let context: EngineContext

  static let maxMessages = 256

  init(_ context: EngineContext) {
    self.context = context
  }

  func begin() async throws(StoreError) {
    let messages = try await measure()
    if messages > 0 { context.logger.info("messages of the last run are published now", [.count: messages]) }
  }

  /// Sets the gauge to the messages in the store, those of other processes included.
  @discardableResult
  func measure() async throws(StoreError) -> Int {
    let figures = try await context.store.figures()
    context.metrics.outboxMessages.set(Double(figures.messages))
    context.outbox.health.measured(setAside: figures.setAside)
    return figures.messages
  }

  func relay() async throws -> Bool {
    // A confirmed message must not be claimed: past its deadline, it would be reported as a job that no queue took.
    try await context.outbox.settle()
    let now = context.clock.now()
    let claimed = try await context.store.claimMessages(limit: Self.maxMessages, at: now)
    let late = claimed.filter { $0.message.discardAt.map { now >= $0 } ?? false }
    let needed = claimed.filter { $0.message.discardAt.map { now < $0 } ?? true }
    var failure: StoreError?
    do throws(AMQPError) {
      if !needed.isEmpty { _ = try await context.outbox.publish(needed) }
    } catch {
      giveBack(late)
      throw error
    }
    if !late.isEmpty {
      context.logger.warning("jobs that no worker took in time are dropped", [.count: late.count])
      for message in late {
        do throws(StoreError) {
          try await drop(message, at: now)
        } catch {
          failure = error
          giveBack([message])
        }
      }
    }
    try await context.outbox.settle()
    if let failure { throw failure }
    return claimed.count == Self.maxMessages
  }

  private func giveBack(_ messages: [StoredMessage]) {
    var settlement = OutboxSettlement()
    for message in messages { settlement.postponed[message.number] = context.clock.now() + Outbox.retryDelay }
    context.outbox.note(settlement)
  }

  // MARK: Late jobs

  /// Nothing is told of a job that a worker may have: its owner goes on waiting for the result, or its own deadline.
  private func drop(_ row: StoredMessage, at now: UnixTime) async throws(StoreError) {
    let gone = OutboxSettlement(finished: [row.number])
    let told = row.mayBeOut ? nil : report(on: row.message)
    do throws(StoreError) {
      if let told {
        try await tell(told.report, told.cause, settling: gone, at: now)
      } else {
        try await context.store.settle(gone)
      }
    } catch {
      // Its owner cannot be read or changed. That must not block the outbox.
      guard error.fault == .content else { throw error }
      context.metrics.skippedRows.with("outbox").increment()
      try await context.store.settle(gone)
    }
    context.metrics.outboxMessages.add(-1)
  }

  private func report(on row: OutboxMessage) -> (report: any Report, cause: Envelope)? {
    // An unreadable job cannot be reported: its owner is unknown.
    guard let job = try? row.outgoing().message, let type = MessageType(parsing: job.type) else { return nil }
    let cause = Envelope(
      type: JobResult.type(ofJob: type), messageID: job.messageID, correlationID: job.correlationID,
      trace: job.traceparent.flatMap(TraceContext.init(traceparent:)))
    for kind in context.registry.reports[cause.type] ?? [] {
      if let report = kind.dropped?(job.messageID) { return (report, cause) }
    }
    return nil
  }

  private func tell(
    _ report: any Report, _ cause: Envelope, settling settlement: OutboxSettlement, at now: UnixTime
  ) async throws(StoreError) {
    var keys = StoreKeys()
    try report.addFirstKeys(to: &keys, at: now)
    let (_, messages) = try await context.transact(keys, at: now, settling: settlement) { set throws(StoreError) in
      try report.apply(cause: cause, in: &set)
    }
    await context.publishNow(messages)
  }
}
