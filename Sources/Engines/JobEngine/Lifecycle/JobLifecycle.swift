import CountersignMessages
import CountersignTelemetry

/// The life of one decoded job: the next action, given the last event.
///
/// It does no I/O and reads no clock. The engine carries out the action, and comes back with the event:
///
/// ```
///  begin ─► acquire ─► claim ─► perform ─► settle ─► publish ─► acknowledge
///              │         │         │
///              │         │         ├─ retry ────► release ─► acquire (next lane) or delay
///              │         │         ├─ otherLane ► release ─► acquire (next lane), or settle after the last one
///              │         │         ├─ continued ► settle ─► publish (the next stage) ─► acknowledge
///              │         │         ├─ unknown ──► lookUp ──► settle, or postpone ─► delay
///              │         │         ├─ laneDown ─► release ─► acquire (next lane) or delay, uncounted
///              │         │         └─ notCalled ► release ─► acquire (next lane), or settle or delay after the last one
///              │         ├─ settled ───► publish (the recorded result)
///              │         ├─ held ──────► delay 5 s, uncounted
///              │         └─ abandoned ─► lookUp ─► perform, or settle unknown
///              └─ down ─► acquire (next lane) or delay, uncounted
/// ```
///
/// The order settle, publish, acknowledge makes a crash harmless: wherever it strikes, the repeated steps are safe to
/// repeat. A job that ends without a call (its deadline passed, its handler refused it) is claimed as well, because an
/// earlier delivery of the same message may have begun or ended it.
struct JobLifecycle: Sendable {
  enum Action: Sendable, Hashable {
    /// Wait for a slot of a lane, at most for `patience`.
    case acquire(lane: String, patience: Duration)
    /// Claim the job for a call through the lane. `nil` when no call will follow.
    case claim(lane: String?, timeout: Duration)
    case perform(lane: String, timeout: Duration)
    case lookUp(lane: String)
    case release
    case postpone
    case settle(JobEnding)
    case settleStage(NextStage)
    /// Publish the settled result or next stage, or the record of an earlier delivery.
    case publish(recorded: [UInt8]?)
    /// Publish to a delay queue, then acknowledge. Ends the life.
    case delay(JobDelay)
    /// Return the message to its queue. Ends the life.
    case handBack(wasBegun: Bool)
    case acknowledge
    /// Move the message to the dead letters. Ends the life.
    case bury
  }

  enum Event: Sendable, Hashable {
    case slotGranted
    /// The lane is down, and probed again after this time.
    case slotDenied(Reason, after: Duration)
    case slotBusy
    case stopping
    case claimAnswered(ClaimAnswer)
    case ledgerFailed
    case classified(Classification)
    case lookedUp(Classification?)
    case released
    case postponed
    /// With the result that stands, if another run of the job recorded it.
    case settled(standing: [UInt8]?)
    case published
    /// The result could not be published for a long time, and is safe in the ledger.
    case undeliverable
    /// The record is unreadable, and exists nowhere else.
    case unreadable
  }

  private enum State: Sendable, Hashable {
    case new
    case acquiring
    case claimingForCall(timeout: Duration)
    case claimingToEnd(JobEnding)
    case performing
    case lookingUp(Unknown, timeout: Duration)
    case releasing(Release)
    case postponing(Reason)
    case settling
    case publishing
    case ended
  }

  private enum Unknown: Sendable, Hashable {
    /// An earlier attempt crashed before recording its outcome.
    case abandoned
    /// The call of this attempt ended with an unknown outcome.
    case call(Reason)
  }

  private enum Release: Sendable, Hashable {
    case nextLane
    case tooLate
  }

  /// Delay of a job that another worker holds, or that could not be claimed.
  static let heldDelay: Duration = .seconds(5)
  static let undeliverableDelay: Duration = .seconds(30)

  let facts: JobFacts
  private let rules: JobRules
  private let callTimeouts: [Duration]
  private var state = State.new
  private var laneIndex = 0
  private(set) var unknownCalls: Int
  private var hasCalled = false
  private var retry: (reason: Reason, after: Duration?)?
  private var down: (reason: Reason, after: Duration)?
  private var tooLate: Reason?

  init(_ facts: JobFacts, rules: JobRules, callTimeouts: [Duration]) {
    precondition(callTimeouts.count == facts.lanes.count, "Each lane needs its timeout.")
    self.facts = facts
    self.rules = rules
    self.callTimeouts = callTimeouts
    unknownCalls = facts.unknownCalls
  }

  mutating func begin(now: UnixTime) -> Action {
    guard case .new = state else { preconditionFailure("A job begins once.") }
    if let refusal = facts.refusal {
      return end(ending(.refused, refusal.reason, extras: refusal.extras))
    }
    guard !facts.lanes.isEmpty else { return end(ending(.refused, .noLane)) }
    if isTooLate(now) { return end(expired()) }
    if let notBefore = facts.notBefore, notBefore > now { return wait(until: notBefore, now: now) }
    return acquire(now)
  }

  mutating func handle(_ event: Event, now: UnixTime) -> Action {
    switch (state, event) {
    case (.acquiring, .slotGranted): return claimForCall(now)
    case (.acquiring, .slotDenied(let reason, let wait)):
      noteDown(reason, after: wait)
      return nextLane(now)
    case (.acquiring, .slotBusy): return isTooLate(now) ? end(expired()) : delay(.laneBusy, Self.heldDelay)
    case (.acquiring, .stopping): return finish(.handBack(wasBegun: hasCalled))

    case (.claimingForCall(let timeout), .claimAnswered(let answer)): return claimed(answer, timeout, now)
    case (.claimingToEnd(let ending), .claimAnswered(let answer)): return claimed(answer, toEnd: ending)
    case (.claimingForCall, .ledgerFailed), (.claimingToEnd, .ledgerFailed):
      return delay(.ledgerUnavailable, Self.heldDelay)

    case (.performing, .classified(let classification)):
      hasCalled = hasCalled || classification.isCall
      return classified(classification, now)
    case (.lookingUp(let unknown, let timeout), .lookedUp(let answer)): return lookedUp(answer, unknown, timeout, now)

    // A claim that cannot be released expires by itself, and counts as unknown then.
    case (.releasing(.nextLane), .released), (.releasing(.nextLane), .ledgerFailed): return nextLane(now)
    case (.releasing(.tooLate), .released), (.releasing(.tooLate), .ledgerFailed): return end(expired())
    // The count of unknown calls travels in the message as well.
    case (.postponing(let reason), .postponed), (.postponing(let reason), .ledgerFailed): return resend(reason, now)

    case (.settling, .settled(let standing)):
      state = .publishing
      return .publish(recorded: standing)
    // The effect is certain and its record is not: publishing and acknowledging never repeats the call.
    case (.settling, .ledgerFailed):
      state = .publishing
      return .publish(recorded: nil)
    case (.publishing, .published): return finish(.acknowledge)
    case (.publishing, .undeliverable): return delay(.resultUndeliverable, Self.undeliverableDelay)
    // Waiting would not make it readable.
    case (.publishing, .unreadable): return finish(.bury)
    case (.publishing, .stopping): return finish(.handBack(wasBegun: true))

    case (.new, _), (.acquiring, _), (.claimingForCall, _), (.claimingToEnd, _), (.performing, _), (.lookingUp, _),
      (.releasing, _), (.postponing, _), (.settling, _), (.publishing, _), (.ended, _):
      preconditionFailure("\(event) cannot follow \(state).")
    }
  }
}

// MARK: - Before the call

extension JobLifecycle {
  private var lane: String { facts.lanes[laneIndex] }

  private var latestCall: UnixTime { facts.deadline - rules.minCallTime }

  private func isTooLate(_ now: UnixTime) -> Bool { now > latestCall }

  private mutating func acquire(_ now: UnixTime) -> Action {
    state = .acquiring
    return .acquire(lane: lane, patience: min(rules.maxSlotWait, latestCall + .milliseconds(1) - now))
  }

  private mutating func claimForCall(_ now: UnixTime) -> Action {
    if isTooLate(now) { return end(expired()) }
    let timeout = callTimeout(now)
    state = .claimingForCall(timeout: timeout)
    return .claim(lane: lane, timeout: timeout)
  }

  /// Well inside the deadline: a tenth of the time left is kept for the steps after the call.
  private func callTimeout(_ now: UnixTime) -> Duration {
    min(callTimeouts[laneIndex], (facts.deadline - now) * 9 / 10)
  }

  private mutating func claimed(_ answer: ClaimAnswer, _ timeout: Duration, _ now: UnixTime) -> Action {
    switch answer {
    case .claimed(let calls):
      unknownCalls = max(unknownCalls, calls)
      return perform(timeout, now)
    case .abandoned(let lane, let calls):
      unknownCalls = max(unknownCalls + 1, calls)
      state = .lookingUp(.abandoned, timeout: timeout)
      return .lookUp(lane: lane ?? self.lane)
    case .settled(let result): return publish(result)
    case .held: return delay(.heldElsewhere, Self.heldDelay)
    }
  }

  private mutating func claimed(_ answer: ClaimAnswer, toEnd ending: JobEnding) -> Action {
    switch answer {
    case .claimed(let calls): unknownCalls = max(unknownCalls, calls)
    case .abandoned(_, let calls): unknownCalls = max(unknownCalls + 1, calls)
    case .settled(let result): return publish(result)
    case .held: return delay(.heldElsewhere, Self.heldDelay)
    }
    return settle(ending)
  }

  /// The claim, or a look-up, may have taken seconds, so the time left before the deadline is checked again. No call
  /// gets more time than its lease was made for.
  private mutating func perform(_ timeout: Duration, _ now: UnixTime) -> Action {
    if isTooLate(now) { return release(.tooLate) }
    state = .performing
    return .perform(lane: lane, timeout: min(timeout, callTimeout(now)))
  }
}

// MARK: - After the call

extension JobLifecycle {
  private mutating func classified(_ classification: Classification, _ now: UnixTime) -> Action {
    switch classification {
    case .accepted(let reference, let extras):
      return settle(ending(.accepted, nil, lane: lane, reference: reference, extras: extras))
    case .refused(let reason, let extras): return settle(ending(.refused, reason, lane: lane, extras: extras))
    case .otherLane(let reason, let extras):
      // A lane that was down or wants to be called later may still carry it out.
      let isLastWord = laneIndex + 1 == facts.lanes.count && retry == nil && down == nil
      return isLastWord ? classified(.refused(reason, extras: extras), now) : release(.nextLane)
    case .lost(let reason, let extras): return settle(ending(.unknown, reason, lane: lane, extras: extras))
    case .continued(let stage):
      state = .settling
      return .settleStage(stage)
    case .retry(let reason, let after):
      noteRetry(reason, after: after)
      return release(.nextLane)
    case .laneDown(let reason):
      noteDown(reason, after: .zero)
      return release(.nextLane)
    case .unknown(let reason):
      state = .lookingUp(.call(reason), timeout: .zero)
      return .lookUp(lane: lane)
    case .notCalled(let reason, let why): return notCalled(reason, why, now)
    }
  }

  private mutating func notCalled(_ reason: Reason, _ why: Classification.NotCalled, _ now: UnixTime) -> Action {
    switch why {
    case .tooLate: tooLate = reason
    case .impossible: return classified(.otherLane(reason), now)
    case .busy: noteDown(reason, after: .zero)
    }
    return release(.nextLane)
  }

  private mutating func lookedUp(
    _ answer: Classification?, _ unknown: Unknown, _ timeout: Duration, _ now: UnixTime
  ) -> Action {
    switch (answer, unknown) {
    case (.accepted, _), (.refused, _), (.lost, _), (.continued, _):
      return classified(answer ?? .unknown(.attemptLost), now)
    case (.retry, .abandoned):
      unknownCalls -= 1
      return perform(timeout, now)
    case (.retry(let reason, let after), .call):
      noteRetry(reason, after: after)
      return release(.nextLane)
    case (.otherLane, _), (.unknown, _), (.laneDown, _), (.notCalled, _), (nil, _): return decide(unknown, timeout, now)
    }
  }

  private mutating func decide(_ unknown: Unknown, _ timeout: Duration, _ now: UnixTime) -> Action {
    let reason: Reason
    switch unknown {
    case .abandoned: reason = .attemptLost
    case .call(let callReason):
      reason = callReason
      unknownCalls += 1
    }
    let mayResend = unknownCalls <= maxUnknownResends && !isTooLate(now)
    guard mayResend else { return settle(ending(.unknown, unknownReason(reason), lane: lane)) }
    if case .abandoned = unknown { return perform(timeout, now) }
    guard RetryStep.fitting(RetryStep.after(attempt: facts.attempt), now: now, latest: latestCall) != nil else {
      return settle(ending(.unknown, unknownReason(reason), lane: lane))
    }
    state = .postponing(reason)
    return .postpone
  }

  private var maxUnknownResends: Int {
    switch facts.onUnknown {
    case .sender(.resend), .resend: rules.maxUnknownResends
    case .sender: 0
    case .resendUntilDeadline: .max
    }
  }

  private func unknownReason(_ reason: Reason) -> Reason {
    guard var own = facts.unknownReason else { return reason }
    own.providerCode = own.providerCode ?? reason.providerCode
    return own
  }

  private mutating func resend(_ reason: Reason, _ now: UnixTime) -> Action {
    let wanted = RetryStep.after(attempt: facts.attempt)
    let step = RetryStep.fitting(wanted, now: now, latest: latestCall) ?? wanted
    return finish(.delay(JobDelay(step: step, countsAttempt: true, reason: reason, unknownCalls: unknownCalls)))
  }

  private mutating func release(_ why: Release) -> Action {
    state = .releasing(why)
    return .release
  }

  private mutating func noteRetry(_ reason: Reason, after: Duration?) {
    // Several lanes may each request a delay; the job starts with the first one again, so the longest delay counts.
    let longest = [retry?.after, after].compactMap { $0 }.max()
    retry = (reason, longest)
  }

  private mutating func noteDown(_ reason: Reason, after wait: Duration) {
    down = (reason, down.map { min($0.after, wait) } ?? wait)
  }

  private mutating func nextLane(_ now: UnixTime) -> Action {
    laneIndex += 1
    if laneIndex < facts.lanes.count { return isTooLate(now) ? end(expired()) : acquire(now) }
    laneIndex = facts.lanes.count - 1
    return retryLater(now)
  }

  private mutating func retryLater(_ now: UnixTime) -> Action {
    if let retry {
      return retryLater(retry.reason, wanted: retry.after, backOff: .backOff(facts.attempt), counted: true, now)
    }
    // Waiting leaves less time, not more.
    if down == nil, let tooLate { return end(expired(tooLate)) }
    let reason = down?.reason ?? .noLane
    return retryLater(reason, wanted: nil, backOff: .atLeast(down?.after ?? .zero), counted: false, now)
  }

  private enum WantedDelay {
    case backOff(Int)
    case atLeast(Duration)

    var step: RetryStep {
      switch self {
      case .backOff(let attempt): RetryStep.after(attempt: attempt)
      case .atLeast(let wait): RetryStep.covering(wait)
      }
    }
  }

  private mutating func retryLater(
    _ reason: Reason, wanted: Duration?, backOff: WantedDelay, counted: Bool, _ now: UnixTime
  ) -> Action {
    var delay = JobDelay(step: backOff.step, countsAttempt: counted, reason: reason, unknownCalls: unknownCalls)
    if let wanted {
      // The provider's own request is obeyed, even if it leaves no time for another attempt.
      guard now + wanted <= latestCall else { return end(expired(reason)) }
      delay.step = RetryStep.covering(wanted)
      if delay.step.delay < wanted { delay.notBefore = now + wanted }
      if now + delay.step.delay <= latestCall { return finish(.delay(delay)) }
      return end(expired(reason))
    }
    guard let step = RetryStep.fitting(delay.step, now: now, latest: latestCall) else { return end(expired(reason)) }
    delay.step = step
    return finish(.delay(delay))
  }

  private mutating func wait(until notBefore: UnixTime, now: UnixTime) -> Action {
    let reason = facts.lastReason ?? .laneBusy
    guard notBefore <= latestCall else { return end(expired()) }
    let step = RetryStep.covering(notBefore - now)
    let further = step.delay < notBefore - now ? notBefore : nil
    return finish(
      .delay(
        JobDelay(
          step: step, countsAttempt: false, reason: reason, notBefore: further, unknownCalls: unknownCalls)))
  }
}

// MARK: - The end

extension JobLifecycle {
  private func ending(
    _ outcome: JobOutcome, _ reason: Reason?, lane: String? = nil, reference: String? = nil, extras: ResultExtras = [:]
  ) -> JobEnding {
    JobEnding(
      outcome: outcome, lane: lane, reference: reference, reason: reason, extras: extras,
      attempts: facts.attempt - 1 + (hasCalled ? 1 : 0))
  }

  private func expired(_ reason: Reason? = nil) -> JobEnding {
    ending(.expired, reason ?? retry?.reason ?? down?.reason ?? facts.lastReason ?? .deadlineExceeded)
  }

  /// The claim reveals whether an earlier delivery ended the job or left it unknown.
  private mutating func end(_ ending: JobEnding) -> Action {
    state = .claimingToEnd(ending)
    return .claim(lane: nil, timeout: .zero)
  }

  private mutating func settle(_ ending: JobEnding) -> Action {
    state = .settling
    // A possible effect of an earlier call cannot be denied.
    let isNews = ending.outcome == .expired || ending.outcome == .refused && !hasCalled
    let isCertain = unknownCalls == 0 || !isNews
    guard !isCertain else { return .settle(ending) }
    var uncertain = ending
    uncertain.outcome = .unknown
    uncertain.reason = unknownReason(.attemptLost)
    return .settle(uncertain)
  }

  private mutating func publish(_ recorded: [UInt8]) -> Action {
    state = .publishing
    return .publish(recorded: recorded)
  }

  private mutating func delay(_ reason: Reason, _ wait: Duration) -> Action {
    finish(
      .delay(
        JobDelay(
          step: RetryStep.covering(wait), countsAttempt: false, reason: reason, unknownCalls: unknownCalls)))
  }

  private mutating func finish(_ action: Action) -> Action {
    state = .ended
    return action
  }
}
