import AMQP
import Messages
import Telemetry

/// Carries out what a `JobLifecycle` decides, for one job.
struct JobRun {
  /// Tries to record the end of a job, and the waits between them. The effect is certain by then.
  static let settleWaits: [Duration] = [.milliseconds(100), .milliseconds(400)]
  /// How long a look-up may take; part of what `JobRules.leaseMargin` is for.
  static let lookUpTimeout: Duration = .seconds(5)

  let parts: WorkerParts
  let delivery: Delivery
  let envelope: Envelope
  let startedAt: UnixTime
  private let call: (any HandlerCall)?
  private let deadline: UnixTime
  private let extras: ResultExtras
  private var life: JobLifecycle
  private var slot: (lane: Lane, grant: SlotGrant)?
  private var claim: LedgerClaim?
  private var result: (body: [UInt8], ending: JobEnding)?

  init(parts: WorkerParts, delivery: Delivery, incoming: IncomingJob, startedAt: UnixTime) {
    self.parts = parts
    self.delivery = delivery
    self.startedAt = startedAt
    envelope = incoming.envelope
    let message = delivery.message
    var facts = JobFacts(
      lanes: [], deadline: startedAt, onUnknown: .report, attempt: envelope.attempt,
      notBefore: WorkerHeader.notBefore(message), lastReason: envelope.lastError.flatMap(Reason.init(lastError:)),
      unknownCalls: WorkerHeader.unknownCalls(message))
    switch incoming.preparation {
    case .ready(let call, let lanes, let deadline, let onUnknown, let extras):
      self.call = call
      self.extras = extras
      facts.deadline = deadline
      facts.onUnknown = onUnknown
      facts.lanes = lanes.filter { parts.lanes[$0] != nil }
      if facts.lanes.isEmpty { facts.refusal = JobFacts.Refusal(reason: .unknownLanes(lanes)) }
    case .refused(let refusal):
      call = nil
      extras = [:]
      facts.refusal = refusal
    }
    deadline = facts.deadline
    life = JobLifecycle(
      facts, rules: parts.options.rules,
      callTimeouts: facts.lanes.compactMap { parts.lanes[$0]?.configuration.callTimeout })
  }

  /// Runs the job to its end.
  mutating func run() async {
    var action = life.begin(now: parts.clock.now())
    while true {
      freeSlot(before: action)
      guard let event = await carryOut(action) else { return }
      action = life.handle(event, now: parts.clock.now())
    }
  }

  /// Carries out one action. Nil: the life of the job is over.
  private mutating func carryOut(_ action: JobLifecycle.Action) async -> JobLifecycle.Event? {
    switch action {
    case .acquire(let lane, let giveUpAt): return await acquire(lane, giveUpAt)
    case .claim(let lane, let timeout): return await claim(lane ?? "", timeout)
    case .perform(let lane, let timeout): return await perform(lane, timeout)
    case .lookUp(let lane): return await lookUp(lane)
    case .release:
      return await giveBack(.released) { ledger, claim throws(LedgerError) in try await ledger.release(claim) }
    case .postpone:
      return await giveBack(.postponed) { ledger, claim throws(LedgerError) in try await ledger.postpone(claim) }
    case .settle(let ending): return await settle(ending)
    case .publish(let recorded): return await publish(recorded)
    case .delay(let delay):
      await put(off: delay)
      return nil
    case .handBack(let wasBegun):
      await JobProcessor(parts: parts).handBack(delivery, wasBegun: wasBegun)
      return nil
    case .acknowledge:
      parts.source.ack(delivery.tag)
      return nil
    }
  }

  /// A slot is held from the claim to the end of the call, and by nothing else.
  private mutating func freeSlot(before action: JobLifecycle.Action) {
    guard let (lane, grant) = slot else { return }
    switch action {
    case .claim(.some, _), .perform, .lookUp: return
    case .claim(nil, _), .acquire, .release, .postpone, .settle, .publish, .delay, .handBack, .acknowledge:
      lane.finish(grant, .unused, now: parts.clock.now())
      slot = nil
    }
  }
}

// MARK: - The call

extension JobRun {
  private mutating func acquire(_ name: String, _ giveUpAt: UnixTime) async -> JobLifecycle.Event {
    guard let lane = parts.lanes[name] else { return .slotBusy }
    switch await lane.acquire(giveUpAt: giveUpAt, now: parts.clock.now()) {
    case .granted(let grant):
      slot = (lane, grant)
      return .slotGranted
    case .down(let reason, let until): return .slotDenied(reason, until: until)
    case .busy: return .slotBusy
    case .stopping: return .stopping
    }
  }

  private mutating func perform(_ name: String, _ timeout: Duration) async -> JobLifecycle.Event {
    guard let call else { return .classified(.refused(.noLane)) }
    let began = parts.clock.now()
    let attempt = attempt(timeout: timeout, now: began)
    let classification = await parts.callGuard.run(timeout: timeout, abandoned: .unknown(.callTimedOut)) {
      await call.perform(on: name, attempt)
    }
    let now = parts.clock.now()
    if let (lane, grant) = slot {
      lane.finish(grant, CallReport(classification), now: now)
      slot = nil
    }
    report(classification, name, took: now - began)
    return .classified(classification)
  }

  private func lookUp(_ name: String) async -> JobLifecycle.Event {
    guard let call else { return .lookedUp(nil) }
    let attempt = attempt(timeout: Self.lookUpTimeout, now: parts.clock.now())
    let answer = await parts.callGuard.run(timeout: Self.lookUpTimeout, abandoned: Classification?.none) {
      await call.lookUp(on: name, attempt)
    }
    return .lookedUp(answer)
  }

  private func attempt(timeout: Duration, now: UnixTime) -> JobAttempt {
    JobAttempt(
      jobID: envelope.messageID, correlationID: envelope.correlationID, number: envelope.attempt,
      deadline: deadline, timeout: timeout, startedAt: now, trace: envelope.trace)
  }

  private func report(_ classification: Classification, _ lane: String, took: Duration) {
    let metrics = parts.metrics.lanes[lane]
    metrics?.calls.observe(took)
    let reason: Reason
    switch classification {
    case .accepted: return
    case .refused(let why, _), .otherLane(let why, _), .unknown(let why), .laneDown(let why): reason = why
    case .retry(let why, _):
      reason = why
      metrics?.retries.increment()
    }
    parts.log.debug(
      "provider did not accept", [.jobID: envelope.messageID, .lane: lane, .reason: reason.description])
  }
}

// MARK: - The ledger

extension JobRun {
  private mutating func claim(_ lane: String, _ timeout: Duration) async -> JobLifecycle.Event {
    let now = parts.clock.now()
    let claim = LedgerClaim(
      messageID: envelope.messageID, owner: parts.options.owner, token: parts.tokens.next(), lane: lane, now: now,
      leaseUntil: now + timeout + parts.options.rules.leaseMargin,
      // A second claim of the same delivery is no redelivery.
      redeliveries: self.claim == nil ? WorkerHeader.redeliveries(delivery) : 0)
    self.claim = claim
    do throws(LedgerError) {
      let answer = try await parts.ledger.claim(claim)
      parts.ledgerSucceeded()
      parts.metrics.ledgerTime.observe(parts.clock.now() - now)
      return .claimAnswered(answer)
    } catch {
      parts.metrics.ledgerFailures.increment()
      parts.ledgerFailed(now: now)
      parts.alarms.error(
        "ledger cannot be written; the job waits", [.jobID: envelope.messageID, .error: error.description], now: now)
      return .ledgerFailed
    }
  }

  private func giveBack(
    _ done: JobLifecycle.Event,
    _ body: (any Ledger, LedgerClaim) async throws(LedgerError) -> Void
  ) async -> JobLifecycle.Event {
    guard let claim else { return done }
    do throws(LedgerError) {
      try await body(parts.ledger, claim)
      return done
    } catch {
      parts.metrics.ledgerFailures.increment()
      parts.alarms.error(
        "claim cannot be given back; it runs out by itself", [.jobID: claim.messageID, .error: error.description],
        now: parts.clock.now())
      return .ledgerFailed
    }
  }

  private mutating func settle(_ ending: JobEnding) async -> JobLifecycle.Event {
    let now = parts.clock.now()
    let body = parts.results.body(
      of: ending, job: envelope, extras: extras, startedAt: startedAt, finishedAt: now)
    result = (body, ending)
    guard let claim else { return .ledgerFailed }
    for wait in Self.settleWaits + [.zero] {
      do throws(LedgerError) {
        let standing = try await parts.ledger.settle(claim, result: body, at: now)
        parts.metrics.ledgerTime.observe(parts.clock.now() - now)
        return .settled(standing: standing)
      } catch {
        parts.metrics.ledgerFailures.increment()
        parts.log.error(
          "result cannot be recorded",
          [.jobID: envelope.messageID, .outcome: ending.outcome.rawValue, .error: error.description])
      }
      if wait > .zero { _ = await parts.timers.sleep(until: parts.clock.now() + wait) }
    }
    return .ledgerFailed
  }
}

// MARK: - Messages

extension JobRun {
  private func publish(_ recorded: [UInt8]?) async -> JobLifecycle.Event {
    guard let (body, outcome) = resultToPublish(recorded) else { return .undeliverable }
    let (essential, copy) = parts.results.publications(body, outcome: outcome, job: envelope, now: parts.clock.now())
    let delivered = await parts.courier.deliver(
      Consignment(essential, copy: copy), jobID: envelope.messageID, givesUp: parts.ledger.remembers)
    switch delivered {
    case .confirmed:
      if recorded != nil { parts.metrics.republished.increment() }
      if recorded == nil, let ending = result?.ending { parts.metrics.ended(ending.outcome, lane: ending.lane) }
      return .published
    case .undeliverable, .tooLarge: return .undeliverable
    case .stopped: return .stopping
    }
  }

  /// The recorded result or the one of this life, with its outcome.
  private func resultToPublish(_ recorded: [UInt8]?) -> (body: [UInt8], outcome: JobOutcome)? {
    guard let recorded else { return result.map { ($0.body, $0.ending.outcome) } }
    do throws(ContractProblem) {
      return (recorded, try JobResult(json: recorded).outcome)
    } catch {
      parts.log.error(
        "recorded result cannot be read", [.jobID: envelope.messageID, .error: error.description])
      return result.map { ($0.body, $0.ending.outcome) }
    }
  }

  private func put(off delay: JobDelay) async {
    let publication = parts.delays.publication(delay, delivery.message, job: envelope, startedAt: startedAt)
    parts.metrics.delayed(delay)
    parts.log.debug(
      "job is put off",
      [.jobID: envelope.messageID, .retryIn: delay.step.delay, .reason: delay.reason.description])
    switch await parts.courier.deliver(Consignment(publication), jobID: envelope.messageID) {
    case .confirmed: parts.source.ack(delivery.tag)
    // It is in no delay step, so it is not acknowledged: the broker delivers it again.
    case .undeliverable, .stopped: parts.source.reject(delivery.tag, requeue: true)
    // Its headers leave no room for ours: to deliver it again would only repeat the call.
    case .tooLarge: parts.source.reject(delivery.tag, requeue: false)
    }
  }
}
