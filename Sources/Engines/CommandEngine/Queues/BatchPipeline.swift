import CountersignAMQP
import CountersignConcurrency
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import RecordStore
import Synchronization

/// Processes the deliveries of a queue in batches: one transaction for a whole batch, then publish, then ack.
///
/// The order makes a crash harmless. Before the commit nothing has happened. After it, the outbox holds the messages to
/// publish, and a redelivered command finds its reply in the inbox. The next batch is processed while one is being
/// published.
final class BatchPipeline<Work: BatchQueue>: QueuePipeline {
  let source: any MessageSource
  let work: Work
  private let store: BatchCommit<Work>
  private let context: EngineContext
  private let deadLetters: DeadLetterWriter
  let marks: CrashMarks
  private let publishing = Window(BatchPipeline.maxPublishing)
  private let stages = Window(CommandStage.maxAtOnce)
  /// Commands whose stage runs or waits.
  private let staged = Atomic(0)
  private let maxStaged: Int

  /// Batches that may be in publication while another is processed. A further one waits.
  static var maxPublishing: Int { 4 }

  init(
    source: any MessageSource, work: Work, _ context: EngineContext, marks: CrashMarks? = nil,
    prefetch: Int = Turn.sharedPrefetch,
    retryDelays: ClosedRange<Duration> = .milliseconds(100)...(.seconds(1))
  ) {
    self.source = source
    self.work = work
    self.context = context
    maxStaged = max(1, prefetch / 2)
    store = BatchCommit(
      work: work, context: context, isLive: { source.isLive($0) }, retryDelays: retryDelays)
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
    await withDiscardingTaskGroup { publishing in
      while let deliveries = await source.next() {
        let deliveries = await workOffRedelivered(deliveries)
        guard !deliveries.isEmpty else { continue }
        await marks.gate.enter()
        guard let batch = await process(deliveries) else {
          marks.gate.leave()
          continue
        }
        await self.publishing.enter()
        publishing.addTask {
          await self.publish(batch)
          self.publishing.leave()
          self.marks.gate.leave()
        }
        for staged in batch.staged {
          await marks.gate.enter()
          let delivery = batch.deliveries[staged.index]
          publishing.addTask {
            await self.takeStage(staged, delivery)
            self.marks.gate.leave()
          }
        }
      }
    }
  }

  // MARK: Transaction

  /// A batch whose transaction is committed.
  struct Batch: Sendable {
    var deliveries: [Delivery]
    var conclusions: [Conclusion]
    var messages: [StoredMessage]
    var startedAt: ContinuousClock.Instant
    /// Deliveries that have a stage before their transaction. They are settled after it.
    var staged: [Staged<Work.Prepared>] = []
  }

  func process(_ deliveries: [Delivery], isCrashed: Bool = false) async -> Batch? {
    let startedAt = ContinuousClock.now
    context.metrics.batchSize(of: work.queue, deliveries.count)
    guard let committed = await store.commit(deliveries, isCrashed: isCrashed) else { return nil }
    return Batch(
      deliveries: deliveries, conclusions: committed.conclusions.map { $0 ?? .nothing },
      messages: committed.messages, startedAt: startedAt, staged: committed.staged)
  }

  // MARK: Publishing

  @discardableResult
  func publish(_ batch: Batch) async -> Bool {
    var others: [Publication] = []
    var duties: [Duty] = []
    var rejected: Set<Int> = []
    for (index, conclusion) in batch.conclusions.enumerated() {
      if let reply = conclusion.reply {
        others.append(reply.message.publication(by: context.author))
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
      let outcomes = try await context.outbox.publish(batch.messages, with: others)
      await release(batch.conclusions.compactMap(\.holder))
      settle(batch, rejected: rejected.union(self.rejected(duties, outcomes)))
      return true
    } catch {
      // Nothing is acknowledged: the broker delivers it again, and the inbox answers.
      context.logger.warning("publishing was ended", [.queue: work.queue, .error: error.description])
      return false
    }
  }

  /// Publishes the messages of commands whose replies are out. Failures are left to the maintenance.
  private func release(_ commands: [InboxKey]) async {
    guard !commands.isEmpty else { return }
    do {
      let messages = try await context.store.release(heldBy: commands, at: context.clock.now())
      _ = try await context.outbox.publish(messages)
    } catch {
      context.logger.warning("jobs that wait for their reply are released later", [.error: "\(error)"])
    }
  }

  /// Purpose of a publication outside the outbox.
  private struct Duty {
    /// Index of the delivery in its batch.
    var delivery: Int
    /// Whether it is a reply. Otherwise it is a dead letter.
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
    let staged = Set(batch.staged.map(\.index))
    for (index, delivery) in batch.deliveries.enumerated() where !staged.contains(index) {
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
  func workOffRedelivered(_ deliveries: [Delivery]) async -> [Delivery] {
    let redelivered = deliveries.filter(\.isRedelivered)
    if redelivered.isEmpty { return deliveries }
    await withTaskGroup(of: Void.self) { group in
      await marks.admit(redelivered, spawn: { work in group.addTask { await work() } }) { await self.workOff($0) }
    }
    return deliveries.filter { !$0.isRedelivered }
  }

  private func workOff(_ step: MarkedStep) async -> Set<DeliveryTag> {
    if step.treatment == .leave {
      for delivery in step.deliveries { source.reject(delivery.tag, requeue: false) }
      return []
    }
    guard let batch = await process(step.deliveries, isCrashed: step.treatment == .bury), await publish(batch) else {
      return Set(step.deliveries.map(\.tag))
    }
    var unsettled: Set<DeliveryTag> = []
    for staged in batch.staged {
      let delivery = batch.deliveries[staged.index]
      if await !finish(staged, delivery) { unsettled.insert(delivery.tag) }
    }
    return unsettled
  }
}

extension BatchPipeline {
  /// Runs a stage beside the batches, or refuses its command at once when too many others have one.
  private func takeStage(_ staged: Staged<Work.Prepared>, _ delivery: Delivery) async {
    defer { self.staged.subtract(1, ordering: .relaxed) }
    guard self.staged.add(1, ordering: .relaxed).newValue <= maxStaged else {
      let refused = work.refuseBusy(staged.prepared, at: context.clock.now())
      await publish(Batch(deliveries: [delivery], conclusions: [refused], messages: [], startedAt: .now))
      return
    }
    await stages.enter()
    await finish(staged, delivery)
    stages.leave()
  }

  /// Runs the stage of a delivery, and then its own transaction.
  @discardableResult
  private func finish(_ staged: Staged<Work.Prepared>, _ delivery: Delivery) async -> Bool {
    let startedAt = ContinuousClock.now
    let outcome = await run(staged.stage)
    // The process is to end, and the work may have been cut short: the delivery arrives again.
    if Task.isCancelled { return false }
    let order: any CommandOrder
    switch outcome {
    case .success(let done): order = done
    case .failure(let error):
      if error.code == .closed { return false }
      var refused = work.giveUp(staged.prepared, at: context.clock.now())
      // Its requester may send it again; without one, operators may.
      if error.fault == .store, refused.reply != nil { refused.dead = nil }
      return await publish(Batch(deliveries: [delivery], conclusions: [refused], messages: [], startedAt: startedAt))
    }
    guard let committed = await store.commit(delivery, work.staged(staged.prepared, order)) else { return false }
    return await publish(
      Batch(
        deliveries: [delivery], conclusions: committed.conclusions.map { $0 ?? .nothing },
        messages: committed.messages, startedAt: startedAt))
  }

  /// Runs a stage. After its time it is canceled; what it has done by then counts.
  private func run(_ stage: CommandStage) async -> Result<any CommandOrder, StoreError> {
    await withTaskGroup(of: Result<any CommandOrder, StoreError>?.self) {
      [context, queue = work.queue] group in
      group.addTask {
        do throws(StoreError) {
          return .success(try await stage.run(StageAccess(context: context)))
        } catch {
          context.logger.error(
            "the work before the transaction of a command failed", [.queue: queue, .error: error.description])
          return .failure(error)
        }
      }
      group.addTask {
        do { try await Task.sleep(for: stage.longest) } catch { return nil }
        context.logger.error("the work before the transaction of a command takes too long", [.queue: queue])
        return nil
      }
      var result = await group.next() ?? nil
      group.cancelAll()
      if result == nil { result = await group.next() ?? nil }
      return result ?? .failure(StoreError(.unavailable, "the work before a transaction takes too long"))
    }
  }
}
