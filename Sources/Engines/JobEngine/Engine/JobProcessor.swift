import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Processes deliveries: reads each, and runs or buries it.
struct JobProcessor: Sendable {
  let context: WorkerContext

  /// Processes one delivery to its end: acknowledged, or handed back.
  func process(_ delivery: Delivery) async {
    if context.isDraining { return await handBack(delivery) }
    let now = context.clock.now()
    do throws(ContractProblem) {
      let incoming = try context.read(delivery, now)
      var run = JobRun(context: context, delivery: delivery, incoming: incoming, startedAt: now)
      await run.run()
    } catch {
      await bury(delivery, error)
    }
  }

  func handBack(_ delivery: Delivery, wasBegun: Bool = false) async {
    context.metrics.handedBack.increment()
    // Where a redelivered job counts as begun, an unbegun one goes back as a new message.
    if !wasBegun, context.countsRedeliveries, await delayUnbegun(delivery) { return context.source.ack(delivery.tag) }
    context.source.reject(delivery.tag, requeue: true)
  }

  /// Returns `false` when the message cannot be read or published, and goes back as it is.
  private func delayUnbegun(_ delivery: Delivery) async -> Bool {
    guard !delivery.isOversize else { return false }
    let job: Envelope
    do throws(ContractProblem) { job = try Envelope(delivery.message) } catch { return false }
    let delay = JobDelay(
      step: .fiveSeconds, countsAttempt: false, reason: .workerStopped,
      notBefore: WorkerHeader.notBefore(delivery.message), unknownCalls: WorkerHeader.unknownCalls(delivery.message))
    let publication = context.delays.publication(
      delay, delivery.message, job: job, sender: context.senders.sender(of: delivery.message),
      startedAt: context.clock.now(),
      redeliveries: context.options.hasOtherHosts ? WorkerHeader.redeliveries(delivery) : 0)
    return await context.publisher.deliver(
      JobPublications(publication), jobID: job.messageID, isWanted: context.isLive(delivery)) == .confirmed
  }

  /// Moves a message to the dead letters that breaks the contract, or whose recorded end is unreadable, and notifies
  /// its sender.
  func bury(_ delivery: Delivery, _ problem: ContractProblem, tellsSender: Bool = true) async {
    let now = context.clock.now()
    let id = delivery.message.messageID ?? ""
    context.metrics.dead(problem)
    context.alarms.warning(
      "message became a dead letter",
      [.jobID: id, .queue: context.options.queue, .reason: problem.code.rawValue, .error: problem.description])
    let sender = context.senders.sender(of: delivery.message)
    let refusal = tellsSender ? context.results.refusal(of: delivery.message, problem, sender: sender, now: now) : nil
    let isLive = context.isLive(delivery)
    if delivery.isOversize {
      // Its body was not kept, so the broker itself has to move it.
      if let refusal {
        _ = await context.publisher.deliver(JobPublications(copy: refusal), jobID: id, isWanted: isLive)
      }
      return context.source.reject(delivery.tag, requeue: false)
    }
    let publication = context.deadLetters.publication(
      delivery.message, problem.code.rawValue, problem.description, sender: sender, now: now)
    switch await context.publisher.deliver(JobPublications(publication, copy: refusal), jobID: id, isWanted: isLive) {
    case .confirmed: context.source.ack(delivery.tag)
    // The broker's own dead-lettering has other ways; it only cannot state the reason.
    case .undeliverable, .tooLarge: context.source.reject(delivery.tag, requeue: false)
    case .stopped: context.source.reject(delivery.tag, requeue: true)
    case .unwanted: context.metrics.leftToRedelivery.increment()
    }
  }
}
