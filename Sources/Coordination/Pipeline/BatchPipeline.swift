import AMQP
import Database
import Messages
import Telemetry

/// Takes the deliveries of a queue in batches: one transaction for a whole batch, then publish, then ack.
///
/// The order is what makes a crash harmless. Before the commit nothing has happened, and the broker delivers again. After it, the
/// outbox has what was to be published, and a command that is delivered again finds its reply in the inbox. While one batch is
/// being published, the next one is already worked on.
final class BatchPipeline<Work: BatchWork>: Sendable {
  private let source: any DeliverySource
  private let work: Work
  private let database: Database
  private let outbox: Outbox
  private let rules: CoordinatorRules
  private let clock: any WallClock
  private let appID: String
  private let logger: Logger
  private let metrics: CoordinatorMetrics
  private let health: StorageHealth
  private let held: HeldJobs?
  private let conversions: ConversionKeeper

  /// Batches that may be being published while another is worked on; the next one waits.
  static var maxPublishing: Int { 4 }
  /// The wait before a transaction that failed is tried again: doubled each time, up to the upper bound.
  private let retryDelays: ClosedRange<Duration>

  init(
    source: any DeliverySource, work: Work, database: Database, outbox: Outbox, rules: CoordinatorRules,
    clock: any WallClock, appID: String, logger: Logger, metrics: CoordinatorMetrics, health: StorageHealth,
    conversions: ConversionKeeper, held: HeldJobs? = nil,
    retryDelays: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))
  ) {
    self.source = source
    self.work = work
    self.database = database
    self.outbox = outbox
    self.rules = rules
    self.clock = clock
    self.appID = appID
    self.logger = logger
    self.metrics = metrics
    self.health = health
    self.held = held
    self.conversions = conversions
    self.retryDelays = retryDelays
  }

  /// Serves until ``stop()``, and returns when all that was taken is published and acknowledged.
  func run() async {
    await withTaskGroup(of: Void.self) { connection in
      connection.addTask { await self.source.run() }
      await self.consume()
      await self.source.close()
    }
  }

  /// Takes no more deliveries.
  func stop() async {
    await source.stopConsuming()
  }

  private func consume() async {
    await withTaskGroup(of: Void.self) { publishing in
      var count = 0
      while let deliveries = await source.next() {
        guard let batch = await process(deliveries) else { continue }
        if count == Self.maxPublishing {
          await publishing.next()
          count -= 1
        }
        publishing.addTask { await self.publish(batch) }
        count += 1
      }
    }
  }

  // MARK: Transaction

  /// A batch whose transaction is committed.
  private struct Batch: Sendable {
    var deliveries: [Delivery]
    var conclusions: [Conclusion]
    var row: OutboxRow?
    var startedAt: ContinuousClock.Instant
  }

  private struct Committed: Sendable {
    var conclusions: [Conclusion?]
    var row: OutboxRow?
    var changes = ConversionChanges()
  }

  /// - Returns: `nil` when the process is to end first; the deliveries are then delivered again.
  private func process(_ deliveries: [Delivery]) async -> Batch? {
    let startedAt = ContinuousClock.now
    metrics.batchSize(of: work.queue, deliveries.count)
    let now = clock.now()
    let prepared = deliveries.map { work.prepare($0, at: now) }
    guard let committed = await commit(prepared, at: now) else { return nil }
    let conclusions = zip(prepared, committed.conclusions).map { prepared, conclusion in
      if case .done(let conclusion) = prepared { return conclusion }
      return conclusion ?? .nothing
    }
    return Batch(deliveries: deliveries, conclusions: conclusions, row: committed.row, startedAt: startedAt)
  }

  /// Tries until it succeeds: the broker keeps the deliveries meanwhile, and readiness tells that the database fails.
  private func commit(_ prepared: [Preparation<Work.Prepared>], at now: UnixTime) async -> Committed? {
    var delay = retryDelays.lowerBound
    while true {
      do throws(DatabaseError) {
        let committed = try await write(prepared, at: now)
        health.succeeded()
        return committed
      } catch {
        if error.code == .closed { return nil }
        guard error.isRetriable else { return await takeApart(prepared, error, at: now) }
        health.failed(error)
        logger.error("a batch cannot be stored and is tried again", failure(error, prepared.count, retryIn: delay))
      }
      do { try await Task.sleep(for: delay) } catch { return nil }
      delay = min(delay * 2, retryDelays.upperBound)
    }
  }

  private func takeApart(
    _ prepared: [Preparation<Work.Prepared>], _ error: DatabaseError, at now: UnixTime
  ) async -> Committed? {
    guard prepared.count > 1 else { return givenUp(prepared, error, at: now) }
    logger.error("a batch cannot be stored and is taken apart", failure(error, prepared.count, retryIn: nil))
    return await commitOneByOne(prepared, at: now)
  }

  private func failure(_ error: DatabaseError, _ count: Int, retryIn: Duration?) -> LogMetadata {
    [.queue: work.queue, .count: count, .error: error.description, .retryIn: retryIn]
  }

  private func write(
    _ prepared: [Preparation<Work.Prepared>], at now: UnixTime
  ) async throws(DatabaseError) -> Committed {
    let confirmed = outbox.takeConfirmed()
    let needsTransaction = prepared.contains { if case .transaction = $0 { true } else { false } }
    guard needsTransaction || !confirmed.isEmpty else {
      return Committed(conclusions: prepared.map { _ in nil }, row: nil)
    }
    do throws(DatabaseError) {
      let committed = try await database.write { [work, retention = rules.retention] session throws(DatabaseError) in
        try Outbox.delete(confirmed, in: session)
        let transaction = CoordinatorTransaction(session, at: now, retention: retention)
        var conclusions: [Conclusion?] = []
        for item in prepared {
          guard case .transaction(let request) = item else {
            conclusions.append(nil)
            continue
          }
          conclusions.append(try work.process(request, in: transaction))
        }
        let row = try transaction.flush()
        return Committed(conclusions: conclusions, row: row, changes: transaction.changes)
      }
      conversions.take(committed.changes, at: now)
      return committed
    } catch {
      outbox.restore(confirmed)
      throw error
    }
  }

  /// One of them makes the transaction fail: the others must not suffer for it.
  private func commitOneByOne(_ prepared: [Preparation<Work.Prepared>], at now: UnixTime) async -> Committed? {
    var all = Committed(conclusions: [], row: nil)
    for item in prepared {
      guard let one = await commit([item], at: now) else { return nil }
      all.conclusions += one.conclusions
      guard let row = one.row else { continue }
      // Rows are published one by one here; this is the way of a fault, not of every day.
      if let earlier = all.row { await publishAlone(earlier) }
      all.row = row
    }
    return all
  }

  private func publishAlone(_ row: OutboxRow) async {
    do {
      _ = try await outbox.publish(row, with: [])
    } catch {
      // It is in the outbox, and published after the next start.
      logger.warning("publishing was ended", [.error: error.description])
    }
  }

  private func givenUp(
    _ prepared: [Preparation<Work.Prepared>], _ error: DatabaseError, at now: UnixTime
  ) -> Committed {
    logger.error("a message cannot be stored and is given up", failure(error, prepared.count, retryIn: nil))
    return Committed(
      conclusions: prepared.map { item in
        if case .transaction(let request) = item { work.giveUp(request, at: now) } else { nil }
      }, row: nil)
  }

  // MARK: Publishing

  private func publish(_ batch: Batch) async {
    if let row = batch.row { metrics.outboxMessages.add(Double(row.messages.count)) }
    var others: [Publication] = []
    var duties: [Duty] = []
    var rejected: Set<Int> = []
    for (index, conclusion) in batch.conclusions.enumerated() {
      if let reply = conclusion.reply {
        others.append(reply.publication(appID: appID))
        duties.append(Duty(delivery: index, isReply: true))
      }
      if let dead = conclusion.dead {
        let delivery = batch.deliveries[index]
        note(delivery, dead)
        if delivery.isOversize {
          // There is no body to copy, so the broker has to move the message.
          rejected.insert(index)
        } else {
          others.append(deadLetter(delivery, dead))
          duties.append(Duty(delivery: index, isReply: false))
        }
      }
    }
    do {
      let outcomes = try await outbox.publish(batch.row, with: others)
      let holders = batch.conclusions.compactMap(\.holder)
      if let held, !holders.isEmpty { await held.release(holders) }
      settle(batch, rejected: rejected.union(self.rejected(duties, outcomes)))
    } catch {
      // Nothing is acknowledged: the broker delivers it again, and the inbox answers.
      logger.warning("publishing was ended", [.queue: work.queue, .error: error.description])
    }
  }

  /// What a publication beside the outbox is for.
  private struct Duty {
    /// The number of the delivery in its batch.
    var delivery: Int
    /// Otherwise it is a dead letter.
    var isReply: Bool
  }

  /// Deliveries whose dead letter was not taken: the broker shall make one itself.
  private func rejected(
    _ duties: [Duty], _ outcomes: [PublishOutcome]
  ) -> Set<Int> {
    var rejected: Set<Int> = []
    for (duty, outcome) in zip(duties, outcomes) where outcome != .confirmed {
      if duty.isReply {
        metrics.requesterGone.increment()
      } else {
        rejected.insert(duty.delivery)
      }
    }
    return rejected
  }

  private func settle(_ batch: Batch, rejected: Set<Int>) {
    let took = ContinuousClock.now - batch.startedAt
    for (index, delivery) in batch.deliveries.enumerated() {
      if rejected.contains(index) {
        source.reject(delivery.tag, requeue: false)
      } else {
        source.ack(delivery.tag)
      }
      work.count(batch.conclusions[index], took: took)
    }
  }

  private func note(_ delivery: Delivery, _ reason: DeadReason) {
    metrics.deadLetters.with(work.queue, reason.code).increment()
    logger.warning(
      "a message cannot be processed and goes to the dead letters",
      [.queue: work.queue, .messageID: delivery.message.messageID, .reason: reason.code, .error: reason.text])
  }

  private func deadLetter(_ delivery: Delivery, _ reason: DeadReason) -> Publication {
    var message = delivery.message
    message.headers[MessageHeader.deadReason] = .string(reason.code)
    message.headers[MessageHeader.lastError] = .string(MessageHeader.bounded(reason.text))
    message.headers[MessageHeader.deadQueue] = .string(work.queue)
    message.headers[MessageHeader.deadAt] = .string(clock.now().rfc3339)
    message.isPersistent = true
    // The broker would check it against the coordinator's own user.
    message.userID = nil
    message.expiration = nil
    return Publication(message: message, exchange: Topology.Exchanges.dead, routingKey: work.queue)
  }
}
