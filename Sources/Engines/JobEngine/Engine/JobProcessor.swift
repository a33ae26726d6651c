import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Processes deliveries: reads each, and runs or buries it.
struct JobProcessor: Sendable {
  let parts: WorkerParts

  /// Processes one delivery to its end: acknowledged, or handed back.
  func process(_ delivery: Delivery) async {
    if parts.isDraining { return await handBack(delivery) }
    let now = parts.clock.now()
    do throws(ContractProblem) {
      let incoming = try parts.read(delivery, now)
      var run = JobRun(parts: parts, delivery: delivery, incoming: incoming, startedAt: now)
      await run.run()
    } catch {
      await bury(delivery, error)
    }
  }

  /// Hands a delivery back.
  /// - Parameter wasBegun: whether the next delivery must not count as the first one.
  func handBack(_ delivery: Delivery, wasBegun: Bool = false) async {
    parts.metrics.handedBack.increment()
    // Where a redelivered job counts as begun, an unbegun one goes back as a new message.
    if !wasBegun, parts.countsRedeliveries, await delayUnbegun(delivery) { return parts.source.ack(delivery.tag) }
    parts.source.reject(delivery.tag, requeue: true)
  }

  /// Returns `false` when the message cannot be read or published, and goes back as it is.
  private func delayUnbegun(_ delivery: Delivery) async -> Bool {
    guard !delivery.isOversize else { return false }
    let job: Envelope
    do throws(ContractProblem) { job = try Envelope(delivery.message) } catch { return false }
    let delay = JobDelay(
      step: .fiveSeconds, countsAttempt: false, reason: .workerStopped,
      notBefore: WorkerHeader.notBefore(delivery.message), unknownCalls: WorkerHeader.unknownCalls(delivery.message))
    let publication = parts.delays.publication(
      delay, delivery.message, job: job, sender: parts.senders.sender(of: delivery.message),
      startedAt: parts.clock.now(),
      redeliveries: parts.options.hasOtherHosts ? WorkerHeader.redeliveries(delivery) : 0)
    return await parts.courier.deliver(
      Consignment(publication), jobID: job.messageID, isWanted: parts.isLive(delivery)) == .confirmed
  }

  /// Moves a message to the dead letters that breaks the contract, or whose recorded end is unreadable, and notifies
  /// its sender.
  func bury(_ delivery: Delivery, _ problem: ContractProblem, tellsSender: Bool = true) async {
    let now = parts.clock.now()
    let id = delivery.message.messageID ?? ""
    parts.metrics.dead(problem)
    parts.alarms.warning(
      "message is a dead letter",
      [.jobID: id, .queue: parts.options.queue, .reason: problem.code.rawValue, .error: problem.description])
    let sender = parts.senders.sender(of: delivery.message)
    let refusal = tellsSender ? parts.results.refusal(of: delivery.message, problem, sender: sender, now: now) : nil
    let isLive = parts.isLive(delivery)
    if delivery.isOversize {
      // Its body was not kept, so the broker itself has to move it.
      if let refusal { _ = await parts.courier.deliver(Consignment(copy: refusal), jobID: id, isWanted: isLive) }
      return parts.source.reject(delivery.tag, requeue: false)
    }
    let publication = parts.deadLetters.publication(
      delivery.message, problem.code.rawValue, problem.description, sender: sender, now: now)
    switch await parts.courier.deliver(Consignment(publication, copy: refusal), jobID: id, isWanted: isLive) {
    case .confirmed: parts.source.ack(delivery.tag)
    // The broker's own dead-lettering has other ways; it only cannot state the reason.
    case .undeliverable, .tooLarge: parts.source.reject(delivery.tag, requeue: false)
    case .stopped: parts.source.reject(delivery.tag, requeue: true)
    case .unwanted: parts.metrics.leftToRedelivery.increment()
    }
  }
}
