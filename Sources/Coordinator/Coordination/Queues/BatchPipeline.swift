import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import SQLite

/// Processes the deliveries of a queue in batches: one transaction for a whole batch, then publish, then ack.
///
/// The order makes a crash harmless. Before the commit nothing has happened, and the broker delivers again. After it,
/// the outbox holds the messages to publish, and a redelivered command finds its reply in the inbox. While one batch is
/// being published, the next one is already processed.
final class BatchPipeline<Work: BatchQueue>: Sendable {
  let source: any MessageSource
  let work: Work
  private let store: BatchCommit<Work>
  private let context: QueueContext
  private let deadLetters: DeadLetterWriter
  let marks: CrashMarks

  /// Batches that may be in publication while another is processed; a further one waits.
  static var maxPublishing: Int { 4 }

  init(
    source: any MessageSource, work: Work, _ context: QueueContext, marks: CrashMarks? = nil,
    retryDelays: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))
  ) {
    self.source = source
    self.work = work
    self.context = context
    store = BatchCommit(work: work, context: context, retryDelays: retryDelays)
    deadLetters = DeadLetterWriter(queue: work.queue, userID: context.author.userID)
    self.marks = marks ?? .none(queue: work.queue, clock: context.clock, logger: context.logger)
  }

  /// Serves until ``stop()``, and returns when all taken deliveries are published and acknowledged.
  func run() async {
    await withTaskGroup(of: Void.self) { connection in
      connection.addTask { await self.source.run() }
      await self.consume()
      await self.marks.release()
      await self.source.close()
    }
  }

  /// Takes no further deliveries.
  func stop() async {
    await source.stopConsuming()
  }

  private func consume() async {
    await withTaskGroup(of: Void.self) { publishing in
      var count = 0
      while let deliveries = await source.next() {
        let deliveries = await workOffRedelivered(deliveries)
        guard !deliveries.isEmpty else { continue }
        await marks.gate.enter()
        guard let batch = await process(deliveries) else {
          marks.gate.leave()
          continue
        }
        if count == Self.maxPublishing {
          await publishing.next()
          count -= 1
        }
        publishing.addTask {
          await self.publish(batch)
          self.marks.gate.leave()
        }
        count += 1
      }
    }
  }

  // MARK: Transaction

  /// A batch whose transaction is committed.
  struct Batch: Sendable {
    var deliveries: [Delivery]
    var conclusions: [Conclusion]
    var row: OutboxRow?
    var startedAt: ContinuousClock.Instant
  }

  /// - Returns: `nil` when the process is to end first; the deliveries then arrive again.
  func process(_ deliveries: [Delivery], isCrashed: Bool = false) async -> Batch? {
    let startedAt = ContinuousClock.now
    context.metrics.batchSize(of: work.queue, deliveries.count)
    guard let committed = await store.commit(deliveries, isCrashed: isCrashed) else { return nil }
    return Batch(
      deliveries: deliveries, conclusions: committed.conclusions.map { $0 ?? .nothing }, row: committed.row,
      startedAt: startedAt)
  }

  // MARK: Publishing

  /// - Returns: whether its deliveries are settled.
  @discardableResult
  func publish(_ batch: Batch) async -> Bool {
    if let row = batch.row { context.metrics.outboxMessages.add(Double(row.messages.count)) }
    var others: [Publication] = []
    var duties: [Duty] = []
    var rejected: Set<Int> = []
    for (index, conclusion) in batch.conclusions.enumerated() {
      if let reply = conclusion.reply {
        others.append(reply.publication(by: context.author))
        duties.append(Duty(delivery: index, isReply: true))
      }
      if let dead = conclusion.dead {
        let delivery = batch.deliveries[index]
        note(delivery, dead)
        if delivery.isOversize {
          // There is no body to copy, so the broker has to move the message.
          rejected.insert(index)
        } else {
          others.append(
            deadLetters.publication(
              delivery.message, dead.code, dead.text, sender: work.sender(of: delivery.message),
              now: context.clock.now()))
          duties.append(Duty(delivery: index, isReply: false))
        }
      }
    }
    do {
      let outcomes = try await context.outbox.publish(batch.row, with: others)
      let holders = batch.conclusions.compactMap(\.holder)
      if let held = context.held, !holders.isEmpty { await held.release(holders) }
      settle(batch, rejected: rejected.union(self.rejected(duties, outcomes)))
      return true
    } catch {
      // Nothing is acknowledged: the broker delivers it again, and the inbox answers.
      context.logger.warning("publishing was ended", [.queue: work.queue, .error: error.description])
      return false
    }
  }

  /// Purpose of a publication outside the outbox.
  private struct Duty {
    /// Index of the delivery in its batch.
    var delivery: Int
    /// Whether it is a reply; otherwise it is a dead letter.
    var isReply: Bool
  }

  /// Deliveries whose dead letter was not taken: the broker dead-letters them itself.
  private func rejected(
    _ duties: [Duty], _ outcomes: [PublishOutcome]
  ) -> Set<Int> {
    var rejected: Set<Int> = []
    for (duty, outcome) in zip(duties, outcomes) where outcome != .confirmed {
      if duty.isReply {
        context.metrics.requesterGone.increment()
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
      if let label = batch.conclusions[index].label { context.metrics.count(label, took: took) }
    }
  }

  private func note(_ delivery: Delivery, _ reason: DeadReason) {
    context.metrics.deadLetters.with(work.queue, reason.code).increment()
    context.logger.warning(
      "a message cannot be processed and goes to the dead letters",
      [.queue: work.queue, .messageID: delivery.message.messageID, .reason: reason.code, .error: reason.text])
  }
}

extension BatchPipeline {
  /// Processes redelivered messages, a few at a time, under marks that outlive a crash: see ``CrashMarks``.
  ///
  /// - Returns: the other deliveries, which arrive for the first time.
  func workOffRedelivered(_ deliveries: [Delivery]) async -> [Delivery] {
    let redelivered = deliveries.filter(\.isRedelivered)
    if redelivered.isEmpty { return deliveries }
    await withTaskGroup(of: Void.self) { group in
      await marks.admit(redelivered, spawn: { work in group.addTask { await work() } }) { await self.workOff($0) }
    }
    return deliveries.filter { !$0.isRedelivered }
  }

  /// - Returns: the deliveries that are not settled.
  private func workOff(_ step: MarkedStep) async -> Set<DeliveryTag> {
    if step.treatment == .leave {
      for delivery in step.deliveries { source.reject(delivery.tag, requeue: false) }
      return []
    }
    if let batch = await process(step.deliveries, isCrashed: step.treatment == .bury), await publish(batch) {
      return []
    }
    return Set(step.deliveries.map(\.tag))
  }
}
