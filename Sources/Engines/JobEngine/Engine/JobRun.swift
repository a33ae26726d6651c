import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Carries out the decisions of a ``JobLifecycle``, for one job: slot, claim, call, record, message, acknowledgement.
struct JobRun {
  /// Waits between attempts to record the end of a job. Its effect is certain by then.
  static let settleWaits: [Duration] = [.milliseconds(100), .milliseconds(400)]
  /// Included in `JobRules.leaseMargin`.
  static let lookUpTimeout: Duration = .seconds(5)

  let context: WorkerContext
  let delivery: Delivery
  let envelope: Envelope
  private let sender: String
  /// The envelope under the ID of the job that results name.
  private let reported: Envelope
  let startedAt: UnixTime
  private let call: JobCall?
  private var life: JobLifecycle
  private var slot: (lane: Lane, grant: SlotGrant)?
  private var claim: LedgerClaim?
  /// Number of times the job may have been begun without the ledger's knowledge.
  private var redeliveries: Int
  /// Tokens of claims that failed here or before, and that the ledger may have nonetheless.
  private var failedClaims: [Int64]
  /// The end to publish, as the ledger has it or should have it.
  private var ended: RecordedEnding?
  private var isRecorded = false
  private var isRequeued = false

  init(context: WorkerContext, delivery: Delivery, incoming: IncomingJob, startedAt: UnixTime) {
    self.context = context
    self.delivery = delivery
    self.startedAt = startedAt
    envelope = incoming.envelope
    sender = incoming.sender
    var reported = incoming.envelope
    reported.messageID = incoming.jobID
    self.reported = reported
    redeliveries = context.countsRedeliveries ? WorkerHeader.redeliveries(delivery) : 0
    failedClaims = WorkerHeader.failedClaims(delivery.message)
    call = incoming.call
    var facts = incoming.facts
    facts.lanes = facts.lanes.filter { context.lanes[$0] != nil }
    if facts.lanes.isEmpty, facts.refusal == nil {
      facts.refusal = JobFacts.Refusal(reason: .unknownLanes(incoming.facts.lanes))
    }
    life = JobLifecycle(
      facts, rules: context.options.rules,
      callTimeouts: facts.lanes.compactMap { context.lanes[$0]?.configuration.callTimeout })
  }

  /// - Returns: whether the message went back to its queue.
  mutating func run() async -> Bool {
    var action = life.begin(now: context.clock.now())
    while true {
      freeSlot(before: action)
      guard let event = await carryOut(action) else { return isRequeued }
      action = life.handle(event, now: context.clock.now())
    }
  }

  /// `nil` ends the life of the job.
  private mutating func carryOut(_ action: JobLifecycle.Action) async -> JobLifecycle.Event? {
    switch action {
    case .acquire(let lane, let patience): return await acquire(lane, patience)
    case .claim(let lane, let timeout): return await claim(lane ?? "", timeout)
    case .perform(let lane, let timeout): return await perform(lane, timeout)
    case .lookUp(let lane): return await lookUp(lane)
    case .release: return await giveBack(.released, LedgerEntry.release)
    case .postpone: return await giveBack(.postponed, LedgerEntry.postpone)
    case .settle(let ending): return await settle(ending)
    case .settleStage(let stage): return await settle(.stage(stage))
    case .publish(let recorded): return await publish(recorded)
    case .delay(let delay):
      await put(off: delay)
      return nil
    case .handBack(let wasBegun):
      isRequeued = await context.handBack(delivery, wasBegun: wasBegun)
      return nil
    case .acknowledge:
      context.source.ack(delivery.tag)
      return nil
    case .bury:
      // Its sender is not notified: its end is certain, but not its outcome.
      isRequeued = await context.bury(delivery, RecordedEnding.unreadable, tellsSender: false)
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
      lane.finish(grant, .unused, now: context.monotonic.now())
      slot = nil
    }
  }
}

// MARK: - Slot

extension JobRun {
  private mutating func acquire(_ name: String, _ patience: Duration) async -> JobLifecycle.Event {
    guard let lane = context.lanes[name] else { return .slotBusy }
    let now = context.monotonic.now()
    switch await lane.acquire(giveUpAt: now + patience, now: now) {
    case .granted(let grant):
      slot = (lane, grant)
      return .slotGranted
    case .down(let reason, let until): return .slotDenied(reason, after: max(.zero, until - context.monotonic.now()))
    case .busy: return .slotBusy
    case .stopping: return .stopping
    }
  }
}

// MARK: - Claim

extension JobRun {
  private mutating func claim(_ lane: String, _ timeout: Duration) async -> JobLifecycle.Event {
    let (now, began) = (context.clock.now(), context.monotonic.now())
    var claim = LedgerClaim(
      messageID: envelope.messageID,
      key: MessageIdentity(sender: sender, messageID: envelope.messageID).key(ofJob: envelope.type),
      // A sender must not be able to guess it: see WorkerHeader.failedClaims.
      token: .random(in: .min ... .max), lane: lane,
      times: LedgerClaim.Times(
        now: now, judgedAt: context.leaseClock.now(),
        leaseUntil: now + timeout + context.options.rules.leaseMargin, keepUntil: keepUntil(now)),
      // A second claim of the same delivery is not a redelivery.
      redeliveries: self.claim == nil ? redeliveries : 0)
    claim.failedTokens = failedClaims
    self.claim = claim
    do throws(StoreError) {
      let answer = try await context.ledgerBatcher.claim(claim)
      failedClaims = []
      context.ledgerSucceeded()
      // From now on the count of unknown calls includes it.
      if case .abandoned = answer { redeliveries = 0 }
      context.metrics.ledgerTime.observe(context.monotonic.now() - began)
      return .claimAnswered(answer)
    } catch {
      failedClaims.append(claim.token)
      context.metrics.ledgerFailures.increment()
      context.ledgerFailed(error, now: context.monotonic.now())
      context.alarms.error(
        "ledger cannot be written; the job waits", [.jobID: envelope.messageID, .error: error.description])
      return .ledgerFailed
    }
  }

  /// Time until which a copy of the job could arrive and do harm: one that arrives after the deadline makes no call.
  private func keepUntil(_ now: UnixTime) -> UnixTime {
    min(max(life.facts.deadline, now), now + context.options.longestDeadline) + context.options.retention
  }

  private func giveBack(
    _ done: JobLifecycle.Event, _ entry: (LedgerClaim) -> LedgerEntry
  ) async -> JobLifecycle.Event {
    guard let claim else { return done }
    do throws(StoreError) {
      try await context.ledgerBatcher.giveBack(entry(claim))
      return done
    } catch {
      context.metrics.ledgerFailures.increment()
      context.alarms.error(
        "claim cannot be released; it expires by itself", [.jobID: claim.messageID, .error: error.description])
      return .ledgerFailed
    }
  }
}

// MARK: - Call

extension JobRun {
  private mutating func perform(_ name: String, _ timeout: Duration) async -> JobLifecycle.Event {
    guard let call else { return .classified(.refused(.noLane)) }
    let began = context.monotonic.now()
    let attempt = attempt(timeout: timeout)
    let abandoned = Classification.unknown(.callTimedOut)
    let classification = await context.callGuard.run(timeout: timeout, abandoned: abandoned) {
      await call(.perform, name, attempt) ?? abandoned
    }
    let now = context.monotonic.now()
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
    let answer = await context.callGuard.run(timeout: Self.lookUpTimeout, abandoned: Classification?.none) {
      await call(.lookUp, name, attempt)
    }
    return .lookedUp(answer)
  }

  private func attempt(timeout: Duration) -> JobAttempt {
    JobAttempt(
      job: MessageIdentity(sender: sender, messageID: envelope.messageID), correlationID: envelope.correlationID,
      number: envelope.attempt, deadline: life.facts.deadline, timeout: timeout, startedAt: context.clock.now(),
      unknownCalls: life.unknownCalls, trace: envelope.trace)
  }

  private func report(_ classification: Classification, _ lane: String, took: Duration) {
    let metrics = context.metrics.lanes[lane]
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
    context.logger.debug(
      "provider did not accept the job", [.jobID: envelope.messageID, .lane: lane, .reason: reason.description])
  }
}

// MARK: - Settle

extension JobRun {
  private mutating func settle(_ ending: JobEnding) async -> JobLifecycle.Event {
    let result = context.results.result(
      of: ending, job: reported, extras: life.facts.extras, startedAt: startedAt, finishedAt: context.clock.now())
    let match = match(ending)
    claim?.match = match
    if match != nil {
      let (least, planned) = (context.clock.now() + context.options.matchedRetention, claim?.times.keepUntil)
      claim?.times.keepUntil = max(least, planned ?? least)
    }
    return await settle(.result(result))
  }

  private func match(_ ending: JobEnding) -> LedgerMatch? {
    guard ending.outcome == .accepted, let lane = ending.lane, let reference = ending.reference,
      context.options.matchedLanes.contains(lane)
    else { return nil }
    return LedgerMatch(lane: lane, reference: reference, correlationID: reported.correlationID)
  }

  private mutating func settle(_ ending: RecordedEnding) async -> JobLifecycle.Event {
    ended = ending
    let record = ending.record(of: envelope.messageID)
    let (now, began) = (context.clock.now(), context.monotonic.now())
    guard let claim else { return .ledgerFailed }
    for wait in Self.settleWaits + [.zero] {
      do throws(StoreError) {
        let standing = try await context.ledgerBatcher.settle(claim, result: record, at: now)
        isRecorded = standing == nil && context.ledger.remembers
        context.metrics.ledgerTime.observe(context.monotonic.now() - began)
        return .settled(standing: standing)
      } catch {
        context.metrics.ledgerFailures.increment()
        context.logger.error(
          "result cannot be recorded", [.jobID: envelope.messageID, .outcome: ending.text, .error: error.description])
      }
      if wait > .zero { _ = await context.timers.sleep(until: context.monotonic.now() + wait) }
    }
    return .ledgerFailed
  }
}

// MARK: - Publish and acknowledge

extension JobRun {
  private func publish(_ recorded: [UInt8]?) async -> JobLifecycle.Event {
    let standing = standing(recorded)
    guard let ending = standing ?? ended else { return .unreadable }
    // An unrecorded end exists here only, so it is not given up.
    let delivered = await context.publisher.deliver(
      publications(ending), jobID: envelope.messageID, givesUp: standing != nil || isRecorded)
    switch delivered {
    case .confirmed:
      count(isRepeated: standing != nil)
      return .published
    case .undeliverable, .tooLarge: return .undeliverable
    case .stopped, .unwanted: return .stopping
    }
  }

  private func count(isRepeated: Bool) {
    if isRepeated { return context.metrics.republished.increment() }
    switch ended {
    case .result(let result): context.metrics.ended(result.outcome, lane: result.lane)
    case .stage: context.metrics.continued.increment()
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
      context.logger.error(
        "recorded result cannot be read", [.jobID: envelope.messageID, .error: error.description])
      return nil
    }
  }

  private func publications(_ ending: RecordedEnding) -> JobPublications {
    let now = context.clock.now()
    switch ending {
    case .result(let result):
      let (publication, copy) = context.results.publications(result, job: reported, sender: sender, now: now)
      return JobPublications(publication, copy: copy)
    case .stage(let stage):
      return JobPublications(
        context.stages.publication(
          stage, job: envelope, sender: sender, jobID: reported.messageID, startedAt: startedAt, now: now))
    }
  }

  private mutating func put(off delay: JobDelay) async {
    let now = context.clock.now()
    let publication = context.delays.publication(
      delay, delivery.message, job: envelope, sender: sender, startedAt: startedAt, now: now,
      redeliveries: context.options.hasOtherHosts ? redeliveries : 0, failedClaims: failedClaims)
    let report = context.results.report(of: delay, job: reported, sender: sender, now: now)
    let delivered = await context.publisher.deliver(
      JobPublications(publication, copy: report), jobID: envelope.messageID, isWanted: context.isLive(delivery))
    if delivered != .confirmed { forgetFailedClaims() }
    switch delivered {
    case .confirmed:
      context.metrics.delayed(delay)
      context.recentDelays.note(delay.reason, now: context.monotonic.now())
      context.logger.debug(
        "job is delayed",
        [.jobID: envelope.messageID, .retryIn: delay.step.delay, .reason: delay.reason.description])
      context.source.ack(delivery.tag)
    // The broker has it, and delivers it again.
    case .unwanted: context.metrics.leftToRedelivery.increment()
    // It is in no delay queue, so it is not acknowledged: the broker delivers it again.
    case .undeliverable, .stopped:
      context.source.reject(delivery.tag, requeue: true)
      isRequeued = true
    // Its headers leave no room for ours: another delivery would only repeat the call.
    case .tooLarge: context.source.reject(delivery.tag, requeue: false)
    }
  }

  /// No copy of the job carries their tokens to the next claim.
  private func forgetFailedClaims() {
    guard var claim else { return }
    for token in failedClaims {
      claim.token = token
      context.ledgerBatcher.forget(claim)
    }
  }
}
