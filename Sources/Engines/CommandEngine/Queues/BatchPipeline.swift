import CountersignAMQP
import CountersignConcurrency
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import RecordStore

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
  private let stages: StageWindows

  static var maxPublishing: Int { 4 }

  init(
    source: any MessageSource, work: Work, _ context: EngineContext, marks: CrashMarks? = nil,
    prefetch: Int = Turn.sharedPrefetch,
    retryDelays: ClosedRange<Duration> = .milliseconds(100)...(.seconds(1))
  ) {
    self.source = source
    self.work = work
    self.context = context
    stages = StageWindows(prefetch: prefetch)
    store = BatchCommit(
      work: work, context: context, isLive: { source.isLive($0) }, retryDelays: retryDelays)
    deadLetters = DeadLetterWriter(queue: work.queue, userID: context.author.userID)
    self.marks = marks ?? .none(queue: work.queue, clock: context.clock, logger: context.logger)
  }

  /// Returns when all taken deliveries are published and acknowledged.
  func run() async {
    await withTaskGroup(of: Void.self) { connection in
      connection.addTask { await self.source.run() }
      await self.consume()
      await self.marks.release()
      await self.source.close()
    }
  }

  func stop() async {
    await source.stopConsuming()
  }

  private func consume() async {
    await withDiscardingTaskGroup { publishing in
      while let deliveries = await source.next() {
        let deliveries = await workOffRedelivered(deliveries, in: &publishing)
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
        for (delivery, stage, prepared) in batch.staged {
          await marks.gate.enter()
          publishing.addTask {
            await self.takeStage(stage, delivery, prepared)
            self.marks.gate.leave()
          }
        }
      }
    }
  }

  // MARK: Transaction

  func process(_ deliveries: [Delivery], isCrashed: Bool = false) async -> Batch<Work.Prepared>? {
    let startedAt = ContinuousClock.now
    context.metrics.batchSize(of: work.queue, deliveries.count)
    let now = context.clock.now()
    let steps: [BatchStep<Work.Prepared>] = deliveries.map { delivery in
      isCrashed ? .end(work.crashed(delivery, at: now)) : work.prepare(delivery, at: now, isNew: true)
    }
    return await store.commit(Batch(deliveries, steps, at: now, startedAt: startedAt))
  }

  // MARK: Publishing

  @discardableResult
  func publish(_ batch: Batch<Work.Prepared>) async -> Bool {
    let ended = batch.ended
    var others: [Publication] = []
    var duties: [Duty] = []
    var rejected: Set<Int> = []
    for (place, conclusion) in ended {
      if let reply = conclusion.reply {
        others.append(reply.message.publication(by: context.author))
        duties.append(Duty(place: place, isReply: true))
      }
      if let dead = conclusion.dead {
        let delivery = batch.deliveries[place]
        note(delivery, dead)
        if delivery.isOversize {
          // There is no body to copy, so the broker has to move the message.
          rejected.insert(place)
        } else {
          others.append(
            deadLetters.publication(
              delivery.message, dead.code, dead.text, sender: work.sender(of: delivery.message),
              now: context.clock.now()))
          duties.append(Duty(place: place, isReply: false))
        }
      }
    }
    do {
      let outcomes = try await context.outbox.publish(batch.messages, with: others)
      await release(ended.compactMap(\.conclusion.holder))
      rejected.formUnion(self.rejected(duties, outcomes))
      let took = ContinuousClock.now - batch.startedAt
      for (place, conclusion) in ended {
        settle(batch.deliveries[place].tag, isRejected: rejected.contains(place), conclusion.label, took)
      }
      return true
    } catch {
      // Nothing is acknowledged: the broker delivers it again, and the inbox answers.
      context.logger.warning("publishing was ended", [.queue: work.queue, .error: error.description])
      return false
    }
  }

  /// Failures are left to the maintenance.
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
    /// That of the delivery in the batch.
    var place: Int
    /// Otherwise it is a dead letter.
    var isReply: Bool
  }

  /// Places of deliveries whose dead letter was not taken: the broker dead-letters them itself.
  private func rejected(
    _ duties: [Duty], _ outcomes: [PublishOutcome]
  ) -> Set<Int> {
    var rejected: Set<Int> = []
    for (duty, outcome) in zip(duties, outcomes) where outcome != .confirmed {
      if duty.isReply {
        context.metrics.requesterGone.increment()
      } else {
        rejected.insert(duty.place)
      }
    }
    return rejected
  }

  private func settle(_ tag: DeliveryTag, isRejected: Bool, _ label: CommandLabel?, _ took: Duration) {
    if isRejected { source.reject(tag, requeue: false) } else { source.ack(tag) }
    if let label { context.metrics.count(label, took: took) }
  }

  private func note(_ delivery: Delivery, _ reason: DeadReason) {
    context.metrics.deadLetters.with(work.queue, reason.code).increment()
    context.logger.warning(
      "a message cannot be processed and goes to the dead letters",
      [.queue: work.queue, .messageID: delivery.message.messageID, .reason: reason.code, .error: reason.text])
  }
}

extension BatchPipeline {
  /// Returns when nothing is left of them but stages, which run beside the batches. See ``CrashMarks``.
  private func workOffRedelivered(
    _ deliveries: [Delivery], in group: inout DiscardingTaskGroup
  ) async -> [Delivery] {
    let redelivered = deliveries.filter(\.isRedelivered)
    if redelivered.isEmpty { return deliveries }
    await marks.admit(
      redelivered, spawn: { work in group.addTask { await work() } }, work: { await self.workOff($0) })
    await marks.passed()
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
    step.pass()
    var unsettled: Set<DeliveryTag> = []
    for (delivery, stage, prepared) in batch.staged {
      if await !takeStage(stage, delivery, prepared) { unsettled.insert(delivery.tag) }
    }
    return unsettled
  }
}

extension BatchPipeline {
  /// - Returns: whether the delivery was settled.
  @discardableResult
  private func takeStage(_ stage: CommandStage, _ delivery: Delivery, _ prepared: Work.Prepared) async -> Bool {
    let isSettled = await stages.run(in: stage.window) { await finish(stage, delivery, prepared) }
    if let isSettled { return isSettled }
    return await end(delivery, work.refuseBusy(prepared, at: context.clock.now()))
  }

  private func finish(_ stage: CommandStage, _ delivery: Delivery, _ prepared: Work.Prepared) async -> Bool {
    let startedAt = ContinuousClock.now
    let outcome = await run(stage, prepared)
    // The process is to end, and the work may have been cut short: the delivery arrives again.
    if Task.isCancelled { return false }
    let staged: Work.Prepared
    switch outcome {
    case .success(let done): staged = done
    case .failure(let error):
      if error.code == .closed { return false }
      var refused = work.giveUp(prepared, at: context.clock.now())
      // Its requester may send it again; without one, operators may.
      if error.fault == .store, refused.reply != nil { refused.dead = nil }
      return await end(delivery, refused, startedAt: startedAt)
    }
    var batch = Batch<Work.Prepared>(
      [delivery], [.transaction(staged)], at: context.clock.now(), startedAt: startedAt)
    batch.isStaged = true
    guard let committed = await store.commit(batch) else { return false }
    return await publish(committed)
  }

  private func end(
    _ delivery: Delivery, _ conclusion: Conclusion, startedAt: ContinuousClock.Instant = .now
  ) async -> Bool {
    await publish(Batch([delivery], [.end(conclusion)], at: context.clock.now(), startedAt: startedAt))
  }

  /// After its time it is canceled. What it has done by then counts.
  private func run(
    _ stage: CommandStage, _ prepared: Work.Prepared
  ) async -> Result<Work.Prepared, StoreError> {
    await withTaskGroup(of: Result<Work.Prepared, StoreError>?.self) {
      [self, context, work, queue = work.queue] group in
      group.addTask { [self] in
        do throws(StoreError) {
          if stage.changesStore, try await isAnswered(prepared) { return .success(prepared) }
          return .success(work.staged(prepared, try await stage.run(StageAccess(context: context))))
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

  private func isAnswered(_ prepared: Work.Prepared) async throws(StoreError) -> Bool {
    try await context.store.read(StoreKeys(), at: context.clock.now()) { [work] set throws(StoreError) in
      try work.isAnswered(prepared, in: set)
    }
  }
}
