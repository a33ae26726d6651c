import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Carries out the decisions of a ``JobLifecycle``, for one job.
struct JobRun {
  /// Waits between attempts to record the end of a job. Its effect is certain by then.
  static let settleWaits: [Duration] = [.milliseconds(100), .milliseconds(400)]
  /// Maximum time of a look-up; included in `JobRules.leaseMargin`.
  static let lookUpTimeout: Duration = .seconds(5)

  let parts: WorkerParts
  let delivery: Delivery
  let envelope: Envelope
  /// The user that sent the job.
  private let sender: String
  /// The envelope under the ID of the job that results name.
  private let reported: Envelope
  let startedAt: UnixTime
  private let call: (any HandlerCall)?
  private let deadline: UnixTime
  private let extras: ResultExtras
  private var life: JobLifecycle
  private var slot: (lane: Lane, grant: SlotGrant)?
  private var claim: LedgerClaim?
  /// Number of times the job may have been begun without the ledger's knowledge.
  private var redeliveries: Int
  /// The end to publish, as the ledger has it or should have it.
  private var ended: RecordedEnding?
  /// Whether the ledger has it.
  private var isRecorded = false

  init(parts: WorkerParts, delivery: Delivery, incoming: IncomingJob, startedAt: UnixTime) {
    self.parts = parts
    self.delivery = delivery
    self.startedAt = startedAt
    envelope = incoming.envelope
    sender = incoming.sender
    var reported = incoming.envelope
    reported.messageID = incoming.jobID
    self.reported = reported
    redeliveries = parts.countsRedeliveries ? WorkerHeader.redeliveries(delivery) : 0
    let message = delivery.message
    var facts = JobFacts(
      lanes: [], deadline: startedAt, onUnknown: .report, attempt: envelope.attempt,
      notBefore: WorkerHeader.notBefore(message), lastReason: envelope.lastError.flatMap(Reason.init(lastError:)),
      unknownCalls: WorkerHeader.unknownCalls(message))
    switch incoming.preparation {
    case .ready(let prepared):
      call = prepared.job
      extras = prepared.extras
      facts.deadline = prepared.deadline
      facts.onUnknown = prepared.onUnknown
      facts.maximumUnknownResends = prepared.maximumUnknownResends
      facts.unknownReason = prepared.unknownReason
      facts.lanes = prepared.lanes.filter { parts.lanes[$0] != nil }
      if facts.lanes.isEmpty { facts.refusal = JobFacts.Refusal(reason: .unknownLanes(prepared.lanes)) }
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

  /// Carries out one action. `nil` ends the life of the job.
  private mutating func carryOut(_ action: JobLifecycle.Action) async -> JobLifecycle.Event? {
    switch action {
    case .acquire(let lane, let patience): return await acquire(lane, patience)
    case .claim(let lane, let timeout): return await claim(lane ?? "", timeout)
    case .perform(let lane, let timeout): return await perform(lane, timeout)
    case .lookUp(let lane): return await lookUp(lane)
    case .release:
      return await giveBack(.released) { ledger, claim throws(LedgerError) in try await ledger.release(claim) }
    case .postpone:
      return await giveBack(.postponed) { ledger, claim throws(LedgerError) in try await ledger.postpone(claim) }
    case .settle(let ending): return await settle(ending)
    case .settleStage(let stage): return await settle(.stage(stage))
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
    case .bury:
      // Its sender is not notified: its end is certain, but not its outcome.
      await JobProcessor(parts: parts).bury(delivery, RecordReader.damaged, tellsSender: false)
      return nil
    }
  }

  /// A slot is held from the claim to the end of the call, and by nothing else.
  private mutating func freeSlot(before action: JobLifecycle.Action) {
    guard let (lane, grant) = slot else { return }
    switch action {
    case .claim(.some, _), .perform, .lookUp: return
    case .claim(nil, _), .acquire, .release, .postpone, .settle, .settleStage, .publish, .delay, .handBack,
      .acknowledge, .bury:
      lane.finish(grant, .unused, now: parts.monotonic.now())
      slot = nil
    }
  }
}

// MARK: - The call

extension JobRun {
  private mutating func acquire(_ name: String, _ patience: Duration) async -> JobLifecycle.Event {
    guard let lane = parts.lanes[name] else { return .slotBusy }
    let now = parts.monotonic.now()
    switch await lane.acquire(giveUpAt: now + patience, now: now) {
    case .granted(let grant):
      slot = (lane, grant)
      return .slotGranted
    case .down(let reason, let until): return .slotDenied(reason, after: max(.zero, until - parts.monotonic.now()))
    case .busy: return .slotBusy
    case .stopping: return .stopping
    }
  }

  private mutating func perform(_ name: String, _ timeout: Duration) async -> JobLifecycle.Event {
    guard let call else { return .classified(.refused(.noLane)) }
    let began = parts.monotonic.now()
    let attempt = attempt(timeout: timeout)
    let classification = await parts.callGuard.run(timeout: timeout, abandoned: .unknown(.callTimedOut)) {
      await call.perform(on: name, attempt)
    }
    let now = parts.monotonic.now()
    if let (lane, grant) = slot {
      lane.finish(grant, CallReport(classification), now: now)
      slot = nil
    }
    report(classification, name, took: now - began)
    return .classified(classification)
  }

  private func lookUp(_ name: String) async -> JobLifecycle.Event {
    guard let call else { return .lookedUp(nil) }
    let attempt = attempt(timeout: Self.lookUpTimeout)
    let answer = await parts.callGuard.run(timeout: Self.lookUpTimeout, abandoned: Classification?.none) {
      await call.lookUp(on: name, attempt)
    }
    return .lookedUp(answer)
  }

  private func attempt(timeout: Duration) -> JobAttempt {
    JobAttempt(
      jobID: envelope.messageID, sender: sender, correlationID: envelope.correlationID, number: envelope.attempt,
      deadline: deadline, timeout: timeout, startedAt: parts.clock.now(), unknownCalls: life.unknownCalls,
      trace: envelope.trace)
  }

  private func report(_ classification: Classification, _ lane: String, took: Duration) {
    let metrics = parts.metrics.lanes[lane]
    metrics?.calls.observe(took)
    let reason: Reason
    switch classification {
    case .accepted, .continued: return
    case .refused(let why, _), .otherLane(let why, _), .unknown(let why), .lost(let why, _), .laneDown(let why),
      .notCalled(let why, _):
      reason = why
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
    let (now, began) = (parts.clock.now(), parts.monotonic.now())
    let claim = LedgerClaim(
      messageID: envelope.messageID,
      key: MessageIdentity(sender: sender, messageID: envelope.messageID).key(ofJob: envelope.type),
      token: parts.tokens.next(), lane: lane, now: now,
      judgedAt: parts.leaseClock.now(), leaseUntil: now + timeout + parts.options.rules.leaseMargin,
      keepUntil: keepUntil(now),
      // A second claim of the same delivery is not a redelivery.
      redeliveries: self.claim == nil ? redeliveries : 0)
    self.claim = claim
    do throws(LedgerError) {
      let answer = try await parts.ledger.claim(claim)
      parts.ledgerSucceeded()
      // From now on the count of unknown calls includes it.
      if case .abandoned = answer { redeliveries = 0 }
      parts.metrics.ledgerTime.observe(parts.monotonic.now() - began)
      return .claimAnswered(answer)
    } catch {
      parts.metrics.ledgerFailures.increment()
      parts.ledgerFailed(now: parts.monotonic.now())
      parts.alarms.error(
        "ledger cannot be written; the job waits", [.jobID: envelope.messageID, .error: error.description])
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
        "claim cannot be given back; it runs out by itself", [.jobID: claim.messageID, .error: error.description])
      return .ledgerFailed
    }
  }

  private mutating func settle(_ ending: JobEnding) async -> JobLifecycle.Event {
    let result = parts.results.result(
      of: ending, job: reported, extras: extras, startedAt: startedAt, finishedAt: parts.clock.now())
    let match = match(ending)
    claim?.match = match
    if match != nil {
      let (least, planned) = (parts.clock.now() + parts.options.matchedRetention, claim?.keepUntil)
      claim?.keepUntil = max(least, planned ?? least)
    }
    return await settle(.result(result))
  }

  /// Time until which a copy of the job could arrive and do harm: one that arrives after the deadline makes no call.
  private func keepUntil(_ now: UnixTime) -> UnixTime {
    min(max(deadline, now), now + parts.options.longestDeadline) + parts.options.retention
  }

  private func match(_ ending: JobEnding) -> LedgerMatch? {
    guard ending.outcome == .accepted, let lane = ending.lane, let reference = ending.reference,
      parts.options.matchedLanes.contains(lane)
    else { return nil }
    return LedgerMatch(lane: lane, reference: reference, correlationID: reported.correlationID)
  }

  private mutating func settle(_ ending: RecordedEnding) async -> JobLifecycle.Event {
    ended = ending
    let record = ending.record(of: envelope.messageID)
    let (now, began) = (parts.clock.now(), parts.monotonic.now())
    guard let claim else { return .ledgerFailed }
    for wait in Self.settleWaits + [.zero] {
      do throws(LedgerError) {
        let standing = try await parts.ledger.settle(claim, result: record, at: now)
        isRecorded = standing == nil && parts.ledger.remembers
        parts.metrics.ledgerTime.observe(parts.monotonic.now() - began)
        return .settled(standing: standing)
      } catch {
        parts.metrics.ledgerFailures.increment()
        parts.log.error(
          "result cannot be recorded", [.jobID: envelope.messageID, .outcome: ending.text, .error: error.description])
      }
      if wait > .zero { _ = await parts.timers.sleep(until: parts.monotonic.now() + wait) }
    }
    return .ledgerFailed
  }
}

// MARK: - Messages

extension JobRun {
  private func publish(_ recorded: [UInt8]?) async -> JobLifecycle.Event {
    let standing = standing(recorded)
    guard let ending = standing ?? ended else { return .unreadable }
    // An unrecorded end exists here only, so it is not given up.
    let delivered = await parts.courier.deliver(
      consignment(ending), jobID: envelope.messageID, givesUp: standing != nil || isRecorded)
    switch delivered {
    case .confirmed:
      count(isRepeated: standing != nil)
      return .published
    case .undeliverable, .tooLarge: return .undeliverable
    case .stopped, .unwanted: return .stopping
    }
  }

  private func count(isRepeated: Bool) {
    if isRepeated { return parts.metrics.republished.increment() }
    switch ended {
    case .result(let result): parts.metrics.ended(result.outcome, lane: result.lane)
    case .stage: parts.metrics.continued.increment()
    case nil: return
    }
  }

  /// The end that another run of the job recorded, if that is the valid one.
  private func standing(_ recorded: [UInt8]?) -> RecordedEnding? {
    guard let recorded else { return nil }
    do throws(ContractProblem) {
      let ending = try RecordedEnding(recorded, of: envelope.messageID)
      // Another worker considered this one dead and could only report the yield of its call as lost; it is not.
      if case .stage = ended, case .result = ending { return nil }
      return ending
    } catch {
      parts.log.error(
        "recorded result cannot be read", [.jobID: envelope.messageID, .error: error.description])
      return nil
    }
  }

  private func consignment(_ ending: RecordedEnding) -> Consignment {
    let now = parts.clock.now()
    switch ending {
    case .result(let result):
      let (publication, copy) = parts.results.publications(result, job: reported, sender: sender, now: now)
      return Consignment(publication, copy: copy)
    case .stage(let stage):
      return Consignment(
        parts.stages.publication(
          stage, job: envelope, sender: sender, jobID: reported.messageID, startedAt: startedAt, now: now))
    }
  }

  private func put(off delay: JobDelay) async {
    let publication = parts.delays.publication(
      delay, delivery.message, job: envelope, sender: sender, startedAt: startedAt,
      redeliveries: parts.options.hasOtherHosts ? redeliveries : 0)
    switch await parts.courier.deliver(
      Consignment(publication), jobID: envelope.messageID, isWanted: parts.isLive(delivery))
    {
    case .confirmed:
      parts.metrics.delayed(delay)
      parts.log.debug(
        "job is put off",
        [.jobID: envelope.messageID, .retryIn: delay.step.delay, .reason: delay.reason.description])
      parts.source.ack(delivery.tag)
    // The broker has it, and delivers it again.
    case .unwanted: parts.metrics.leftToRedelivery.increment()
    // It is in no delay queue, so it is not acknowledged: the broker delivers it again.
    case .undeliverable, .stopped: parts.source.reject(delivery.tag, requeue: true)
    // Its headers leave no room for ours: another delivery would only repeat the call.
    case .tooLarge: parts.source.reject(delivery.tag, requeue: false)
    }
  }
}
