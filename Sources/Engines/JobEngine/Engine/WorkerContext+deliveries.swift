import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

// Processing of a delivery: it is read, and run or buried.
extension WorkerContext {
  /// - Returns: whether it went back to the queue.
  @discardableResult
  func process(_ delivery: Delivery) async -> Bool {
    if isDraining { return await handBack(delivery) }
    let now = clock.now()
    do throws(ContractProblem) {
      let incoming = try read(delivery, now)
      var run = JobRun(context: self, delivery: delivery, incoming: incoming, startedAt: now)
      return await run.run()
    } catch {
      return await bury(delivery, error)
    }
  }

  /// - Returns: whether it went back to the queue, and not into a delay.
  func handBack(_ delivery: Delivery, wasBegun: Bool = false) async -> Bool {
    metrics.handedBack.increment()
    // An unbegun job goes back as a new message if a redelivered one counts as begun.
    if !wasBegun, countsRedeliveries, await delayUnbegun(delivery) {
      source.ack(delivery.tag)
      return false
    }
    source.reject(delivery.tag, requeue: true)
    return true
  }

  /// Returns `false` when the message cannot be read or published, and goes back as it is.
  private func delayUnbegun(_ delivery: Delivery) async -> Bool {
    guard !delivery.isOversize else { return false }
    let job: Envelope
    do throws(ContractProblem) { job = try Envelope(delivery.message) } catch { return false }
    let delay = JobDelay(
      step: .fiveSeconds, countsAttempt: false, reason: .workerStopped,
      notBefore: WorkerHeader.notBefore(delivery.message), unknownCalls: WorkerHeader.unknownCalls(delivery.message))
    let now = clock.now()
    let publication = delays.publication(
      delay, delivery.message, job: job, sender: senders.sender(of: delivery.message),
      startedAt: now, now: now,
      redeliveries: options.hasOtherHosts ? WorkerHeader.redeliveries(delivery) : 0,
      failedClaims: WorkerHeader.failedClaims(delivery.message))
    return await publisher.deliver(
      JobPublications(publication), jobID: job.messageID, isWanted: isLive(delivery)) == .confirmed
  }

  /// - Returns: whether it went back to the queue, since the worker stops.
  func bury(_ delivery: Delivery, _ problem: ContractProblem, tellsSender: Bool = true) async -> Bool {
    let now = clock.now()
    let id = delivery.message.messageID ?? ""
    metrics.dead(problem)
    alarms.warning(
      "message became a dead letter",
      [.jobID: id, .queue: options.queue, .reason: problem.code.rawValue, .error: problem.description])
    let sender = senders.sender(of: delivery.message)
    let refusal = tellsSender ? results.refusal(of: delivery.message, problem, sender: sender, now: now) : nil
    let isLive = self.isLive(delivery)
    if delivery.isOversize {
      // Its body was not kept, so the broker itself has to move it.
      if let refusal {
        _ = await publisher.deliver(JobPublications(copy: refusal), jobID: id, isWanted: isLive)
      }
      source.reject(delivery.tag, requeue: false)
      return false
    }
    let publication = deadLetters.publication(
      delivery.message, problem.code.rawValue, problem.description, sender: sender, now: now)
    switch await publisher.deliver(JobPublications(publication, copy: refusal), jobID: id, isWanted: isLive) {
    case .confirmed: source.ack(delivery.tag)
    // The broker's own dead-lettering has other ways; it only cannot state the reason.
    case .undeliverable, .tooLarge: source.reject(delivery.tag, requeue: false)
    case .stopped:
      source.reject(delivery.tag, requeue: true)
      return true
    case .unwanted: metrics.leftToRedelivery.increment()
    }
    return false
  }
}
