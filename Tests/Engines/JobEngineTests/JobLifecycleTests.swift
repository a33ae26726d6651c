import CountersignMessages
import CountersignTelemetry
import Testing

@testable import JobEngine

/// The class table of the design, and what surrounds it, step by step.
@Suite struct JobLifecycleTests {
  private let noRoute = Reason("CONNECT_FAILED", "The provider could not be reached.")
  private let badNumber = Reason("INVALID_NUMBER", "No such number.", providerCode: "21211")
  private let timedOut = Reason("TIMED_OUT", "No answer came.")
  private let suspended = Reason("ACCOUNT_SUSPENDED", "The account is suspended.")

  private func facts(
    lanes: [String] = ["a"], deadline: Duration = .seconds(600), onUnknown: OnUnknown = .report, attempt: Int = 1,
    notBefore: UnixTime? = nil, lastReason: Reason? = nil, unknownCalls: Int = 0, refusal: JobFacts.Refusal? = nil
  ) -> JobFacts {
    var facts = JobFacts(lanes: lanes, deadline: start + deadline, onUnknown: .sender(onUnknown))
    facts.attempt = attempt
    facts.notBefore = notBefore
    facts.lastReason = lastReason
    facts.unknownCalls = unknownCalls
    facts.refusal = refusal
    return facts
  }

  private func life(_ facts: JobFacts) -> JobLifecycle {
    JobLifecycle(facts, rules: JobRules(), callTimeouts: facts.lanes.map { _ in .seconds(10) })
  }

  private func begun(_ facts: JobFacts) -> JobLifecycle {
    var life = life(facts)
    _ = life.begin(now: start)
    return life
  }

  private func granted(_ facts: JobFacts) -> JobLifecycle {
    var life = begun(facts)
    _ = life.handle(.slotGranted)
    return life
  }

  private func calling(_ facts: JobFacts, claim: ClaimAnswer = .claimed(unknownCalls: 0)) -> JobLifecycle {
    var life = granted(facts)
    _ = life.handle(.claimAnswered(claim))
    return life
  }

  private func delay(
    _ step: RetryStep, counts: Bool, _ reason: Reason, notBefore: UnixTime? = nil, unknownCalls: Int = 0
  ) -> JobLifecycle.Action {
    .delay(
      JobDelay(step: step, countsAttempt: counts, reason: reason, notBefore: notBefore, unknownCalls: unknownCalls))
  }

  @Test func `Accepted is settled then published then acknowledged`() {
    var life = life(facts())
    #expect(life.begin(now: start) == .acquire(lane: "a", patience: .seconds(60)))
    #expect(life.handle(.slotGranted) == .claim(lane: "a", timeout: .seconds(10)))
    #expect(life.handle(.claimed) == .perform(lane: "a", timeout: .seconds(10)))
    let ending = JobEnding(outcome: .accepted, lane: "a", reference: "SM1", extras: ["segments": 1], attempts: 1)
    #expect(life.handle(.classified(.accepted(reference: "SM1", extras: ["segments": 1]))) == .settle(ending))
    #expect(life.handle(.settled(standing: nil)) == .publish(recorded: nil))
    #expect(life.handle(.published) == .acknowledge)
  }

  @Test func `Refused is settled with the providers reason`() {
    var life = calling(facts(attempt: 3))
    #expect(life.handle(.classified(.refused(badNumber))) == .ends(.refused, "a", reason: badNumber, attempts: 3))
  }

  @Test func `Jobs for another lane take it`() {
    var life = calling(facts(lanes: ["a", "b"]))
    #expect(life.handle(.classified(.otherLane(badNumber))) == .release)
    #expect(life.handle(.released) == .acquire(lane: "b", patience: .seconds(60)))
    #expect(life.handle(.slotGranted) == .claim(lane: "b", timeout: .seconds(10)))
    _ = life.handle(.claimed)
    #expect(
      life.handle(.classified(.otherLane(noRoute, extras: ["environment": "sandbox"])))
        == .ends(.refused, "b", reason: noRoute, extras: ["environment": "sandbox"], attempts: 1))
  }

  @Test func `Jobs for another lane wait for it`() {
    var life = calling(facts(lanes: ["a", "b"]))
    _ = life.handle(.classified(.otherLane(badNumber)))
    _ = life.handle(.released)
    #expect(life.handle(.slotDenied(suspended, after: .seconds(4))) == delay(.fiveSeconds, counts: false, suspended))
  }

  @Test func `Jobs that another lane may carry out are not refused`() {
    var life = calling(facts(lanes: ["a", "b"]))
    #expect(life.handle(.classified(.retry(noRoute, after: .seconds(5)))) == .release)
    #expect(life.handle(.released) == .acquire(lane: "b", patience: .seconds(60)))
    #expect(life.handle(.slotGranted) == .claim(lane: "b", timeout: .seconds(10)))
    _ = life.handle(.claimed)
    #expect(life.handle(.classified(.otherLane(badNumber))) == .release)
    #expect(life.handle(.released) == delay(.fiveSeconds, counts: true, noRoute))
  }

  @Test func `The call ends well inside the deadline`() {
    var life = begun(facts(deadline: .seconds(5)))
    #expect(life.handle(.slotGranted) == .claim(lane: "a", timeout: .milliseconds(4500)))
  }

  @Test(arguments: [-1, 0, 999]) func `Without time for a call it expires`(
    milliseconds: Int
  ) {
    var life = life(facts(deadline: .milliseconds(milliseconds)))
    #expect(life.begin(now: start) == .claim(lane: nil, timeout: .zero))
    #expect(life.handle(.claimed) == .ends(.expired, reason: .deadlineExceeded, attempts: 0))
  }

  @Test func `An expired job tells why its last attempt failed`() {
    var life = begun(facts(deadline: .zero, attempt: 3, lastReason: noRoute))
    #expect(life.handle(.claimed) == .ends(.expired, reason: noRoute, attempts: 2))
  }

  @Test func `It expires while it waits for a slot`() {
    var life = life(facts(deadline: .seconds(30)))
    #expect(life.begin(now: start) == .acquire(lane: "a", patience: .milliseconds(29_001)))
    #expect(life.handle(.slotBusy, now: start + .milliseconds(29_001)) == .claim(lane: nil, timeout: .zero))
  }

  @Test func `A slot that comes too late is not used`() {
    var life = begun(facts(deadline: .seconds(30)))
    #expect(life.handle(.slotGranted, now: start + .milliseconds(29_500)) == .claim(lane: nil, timeout: .zero))
  }

  @Test func `A claim that took too long is given back and the job expires`() {
    var life = begun(facts(deadline: .seconds(6)))
    #expect(life.handle(.slotGranted) == .claim(lane: "a", timeout: .milliseconds(5400)))
    let late = start + .milliseconds(5001)
    #expect(life.handle(.claimed, now: late) == .release)
    #expect(life.handle(.released, now: late) == .claim(lane: nil, timeout: .zero))
    #expect(life.handle(.claimed, now: late) == .ends(.expired, reason: .deadlineExceeded, attempts: 0))
  }

  @Test func `A call has the time that the claim has left`() {
    var life = begun(facts(deadline: .seconds(10)))
    #expect(life.handle(.slotGranted) == .claim(lane: "a", timeout: .seconds(9)))
    #expect(life.handle(.claimed, now: start + .seconds(5)) == .perform(lane: "a", timeout: .milliseconds(4500)))
  }

  @Test func `A call has no more time than its lease though the clock was set back`() {
    var life = begun(facts(deadline: .seconds(5)))
    #expect(life.handle(.slotGranted) == .claim(lane: "a", timeout: .milliseconds(4500)))
    #expect(life.handle(.claimed, now: start - .seconds(3600)) == .perform(lane: "a", timeout: .milliseconds(4500)))
  }

  @Test func `A look up that took too long leaves no time for a call`() {
    var life = granted(facts(deadline: .seconds(6), onUnknown: .resend))
    _ = life.handle(.claimAnswered(.abandoned(lane: "a", unknownCalls: 1)))
    #expect(life.handle(.lookedUp(.retry(noRoute)), now: start + .milliseconds(5001)) == .release)
  }

  @Test func `An expired job that was begun before ends unknown`() {
    var life = begun(facts(deadline: .zero))
    #expect(
      life.handle(.claimAnswered(.abandoned(lane: "a", unknownCalls: 1)))
        == .ends(.unknown, reason: .attemptLost, attempts: 0))
  }

  @Test func `An expired job that was settled before keeps its result`() {
    var life = begun(facts(deadline: .zero))
    #expect(life.handle(.claimAnswered(.settled(result: [1]))) == .publish(recorded: [1]))
  }

  @Test func `Settled before is published again without a call`() {
    var life = granted(facts())
    #expect(life.handle(.claimAnswered(.settled(result: [7]))) == .publish(recorded: [7]))
    #expect(life.handle(.published) == .acknowledge)
  }

  @Test func `Held by another looks again uncounted`() {
    var life = granted(facts())
    #expect(
      life.handle(.claimAnswered(.held(until: start + .seconds(9))))
        == delay(.fiveSeconds, counts: false, .heldElsewhere))
  }

  @Test func `A ledger that cannot be written delays the job uncounted`() {
    var life = granted(facts())
    #expect(life.handle(.ledgerFailed) == delay(.fiveSeconds, counts: false, .ledgerUnavailable))
  }

  @Test func `Abandoned with rule report ends unknown`() {
    var life = granted(facts(onUnknown: .report))
    #expect(life.handle(.claimAnswered(.abandoned(lane: "b", unknownCalls: 1))) == .lookUp(lane: "b"))
    #expect(life.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: .attemptLost, attempts: 0))
  }

  @Test func `Abandoned with rule resend is called again but not forever`() {
    for calls in 1...3 {
      var life = calling(facts(onUnknown: .resend), claim: .abandoned(lane: "a", unknownCalls: calls))
      let action = life.handle(.lookedUp(nil))
      if calls <= 2 {
        #expect(action == .perform(lane: "a", timeout: .seconds(10)))
      } else {
        #expect(action == .ends(.unknown, "a", reason: .attemptLost, attempts: 0))
      }
    }
  }

  @Test func `Abandoned is looked up first`() {
    var known = calling(facts(onUnknown: .resend), claim: .abandoned(lane: "a", unknownCalls: 1))
    #expect(
      known.handle(.lookedUp(.accepted(reference: "SM9")))
        == .ends(.accepted, "a", reference: "SM9", attempts: 0))
    var absent = calling(facts(onUnknown: .report), claim: .abandoned(lane: "a", unknownCalls: 1))
    #expect(absent.handle(.lookedUp(.retry(noRoute))) == .perform(lane: "a", timeout: .seconds(10)))
  }

  @Test(
    arguments: zip(
      1...7,
      [RetryStep.fiveSeconds, .thirtySeconds, .twoMinutes, .tenMinutes, .oneHour, .oneHour, .oneHour]))
  func `Each attempt backs off one step further`(attempt: Int, step: RetryStep) {
    var life = calling(facts(deadline: .seconds(10_000), attempt: attempt))
    #expect(life.handle(.classified(.retry(noRoute))) == .release)
    #expect(life.handle(.released) == delay(step, counts: true, noRoute))
  }

  @Test func `The next lane is taken first`() {
    var life = calling(facts(lanes: ["a", "b"]))
    #expect(life.handle(.classified(.retry(noRoute))) == .release)
    #expect(life.handle(.released) == .acquire(lane: "b", patience: .seconds(60)))
    #expect(life.handle(.slotGranted) == .claim(lane: "b", timeout: .seconds(10)))
    _ = life.handle(.claimed)
    #expect(life.handle(.classified(.accepted(reference: nil))) == .ends(.accepted, "b", attempts: 1))
  }

  @Test func `A second lane is not taken when the first one may have done it`() {
    var life = calling(facts(lanes: ["a", "b"]))
    _ = life.handle(.classified(.unknown(timedOut)))
    #expect(life.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: timedOut, attempts: 1))
  }

  @Test(
    arguments: zip(
      [1, 5, 6, 31, 200, 3000],
      [RetryStep.fiveSeconds, .fiveSeconds, .thirtySeconds, .twoMinutes, .tenMinutes, .oneHour])
  )
  func `Retry after takes the smallest step that obeys it`(seconds: Int, step: RetryStep) {
    var life = calling(facts(deadline: .seconds(10_000)))
    _ = life.handle(.classified(.retry(noRoute, after: .seconds(seconds))))
    #expect(life.handle(.released) == delay(step, counts: true, noRoute))
  }

  @Test func `Retry after beyond the longest step is remembered`() {
    var life = calling(facts(deadline: .seconds(50_000)))
    _ = life.handle(.classified(.retry(noRoute, after: .seconds(7200))))
    let notBefore = start + .seconds(7200)
    #expect(life.handle(.released) == delay(.oneHour, counts: true, noRoute, notBefore: notBefore))
    var again = self.life(facts(deadline: .seconds(50_000), attempt: 2, notBefore: notBefore, lastReason: noRoute))
    #expect(again.begin(now: start + .seconds(3600)) == delay(.oneHour, counts: false, noRoute))
  }

  @Test func `Retry after past the deadline expires`() {
    var life = calling(facts(deadline: .seconds(60)))
    _ = life.handle(.classified(.retry(noRoute, after: .seconds(90))))
    #expect(life.handle(.released) == .claim(lane: nil, timeout: .zero))
    #expect(life.handle(.claimed) == .ends(.expired, reason: noRoute, attempts: 1))
  }

  @Test func `Back off is shortened to fit the deadline and expires when nothing fits`() {
    var fits = calling(facts(deadline: .seconds(60), attempt: 3))
    _ = fits.handle(.classified(.retry(noRoute)))
    #expect(fits.handle(.released) == delay(.thirtySeconds, counts: true, noRoute))
    var late = calling(facts(deadline: .seconds(5), attempt: 3))
    _ = late.handle(.classified(.retry(noRoute)))
    #expect(late.handle(.released) == .claim(lane: nil, timeout: .zero))
  }

  @Test func `A claim that cannot be given back does not stop the retry`() {
    var life = calling(facts())
    _ = life.handle(.classified(.retry(noRoute)))
    #expect(life.handle(.ledgerFailed) == delay(.fiveSeconds, counts: true, noRoute))
  }

  @Test func `Unknown with rule report is never repeated`() {
    var life = calling(facts(onUnknown: .report))
    #expect(life.handle(.classified(.unknown(timedOut))) == .lookUp(lane: "a"))
    #expect(life.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: timedOut, attempts: 1))
  }

  @Test(arguments: [UnknownRule.sender(.resend), .resend])
  func `Unknown with rule resend is postponed and bounded`(rule: UnknownRule) {
    var job = facts()
    job.onUnknown = rule
    var first = calling(job)
    _ = first.handle(.classified(.unknown(timedOut)))
    #expect(first.handle(.lookedUp(nil)) == .postpone)
    #expect(first.handle(.postponed) == delay(.fiveSeconds, counts: true, timedOut, unknownCalls: 1))
    job.attempt = 3
    var third = calling(job, claim: .claimed(unknownCalls: 2))
    _ = third.handle(.classified(.unknown(timedOut)))
    #expect(third.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: timedOut, attempts: 3))
  }

  @Test func `Without a ledgers memory the messages own count bounds resends`() {
    var life = calling(facts(onUnknown: .resend, attempt: 3, unknownCalls: 2))
    _ = life.handle(.classified(.unknown(timedOut)))
    #expect(life.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: timedOut, attempts: 3))
  }

  @Test func `Unknown is settled when the deadline leaves no time to resend`() {
    var life = calling(facts(deadline: .seconds(5), onUnknown: .resend))
    _ = life.handle(.classified(.unknown(timedOut)))
    #expect(life.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: timedOut, attempts: 1))
  }

  @Test func `A look up that knows decides`() {
    var done = calling(facts())
    _ = done.handle(.classified(.unknown(timedOut)))
    #expect(done.handle(.lookedUp(.accepted(reference: "SM3"))) == .ends(.accepted, "a", reference: "SM3", attempts: 1))
    var absent = calling(facts())
    _ = absent.handle(.classified(.unknown(timedOut)))
    #expect(absent.handle(.lookedUp(.retry(noRoute))) == .release)
    #expect(absent.handle(.released) == delay(.fiveSeconds, counts: true, noRoute))
  }

  @Test func `Jobs that may have been carried out end unknown instead of expiring`() {
    var life = begun(facts(deadline: .zero, onUnknown: .resend, attempt: 2, lastReason: timedOut, unknownCalls: 1))
    #expect(
      life.handle(.claimAnswered(.claimed(unknownCalls: 1)))
        == .ends(.unknown, reason: .attemptLost, attempts: 1))
  }

  @Test func `Lane down takes the next lane else waits uncounted`() {
    var two = calling(facts(lanes: ["a", "b"]))
    #expect(two.handle(.classified(.laneDown(suspended))) == .release)
    #expect(two.handle(.released) == .acquire(lane: "b", patience: .seconds(60)))
    var one = calling(facts())
    _ = one.handle(.classified(.laneDown(suspended)))
    #expect(one.handle(.released) == delay(.fiveSeconds, counts: false, suspended))
  }

  @Test func `A job that finds its lane down waits until the probe`() {
    var life = begun(facts())
    #expect(life.handle(.slotDenied(suspended, after: .seconds(20))) == delay(.thirtySeconds, counts: false, suspended))
  }

  @Test func `A retry on one lane counts also when the other is down`() {
    var life = calling(facts(lanes: ["a", "b"]))
    _ = life.handle(.classified(.retry(noRoute)))
    _ = life.handle(.released)
    #expect(life.handle(.slotDenied(suspended, after: .seconds(20))) == delay(.fiveSeconds, counts: true, noRoute))
  }

  @Test func `A job whose lane stays down expires with that reason`() {
    var life = begun(facts(deadline: .seconds(4)))
    #expect(life.handle(.slotDenied(suspended, after: .seconds(1))) == .claim(lane: nil, timeout: .zero))
    #expect(life.handle(.claimed) == .ends(.expired, reason: suspended, attempts: 0))
  }

  @Test func `A lane without free slots delays the job uncounted`() {
    var life = begun(facts())
    #expect(life.handle(.slotBusy, now: start + .seconds(60)) == delay(.fiveSeconds, counts: false, .laneBusy))
  }

  @Test func `Unbegun jobs are handed back`() {
    var life = begun(facts())
    #expect(life.handle(.stopping) == .handBack(wasBegun: false))
  }

  @Test func `A refusal without a call is settled too`() {
    var life = life(facts(refusal: .init(reason: badNumber, extras: ["suppress": true])))
    #expect(life.begin(now: start) == .claim(lane: nil, timeout: .zero))
    #expect(life.handle(.claimed) == .ends(.refused, reason: badNumber, extras: ["suppress": true], attempts: 0))
  }

  @Test func `An effect whose record fails is published and never repeated`() {
    var life = calling(facts())
    _ = life.handle(.classified(.accepted(reference: "SM1")))
    #expect(life.handle(.ledgerFailed) == .publish(recorded: nil))
    #expect(life.handle(.published) == .acknowledge)
  }

  @Test func `A next stage is settled then published then acknowledged`() {
    let stage = NextStage(messageID: "job-1.next", body: [1])
    var life = calling(facts())
    #expect(life.handle(.classified(.continued(as: stage))) == .settleStage(stage))
    #expect(life.handle(.settled(standing: nil)) == .publish(recorded: nil))
    #expect(life.handle(.published) == .acknowledge)
  }

  @Test func `Lost jobs are not tried again`() {
    var life = calling(facts(onUnknown: .resend), claim: .claimed(unknownCalls: 1))
    #expect(life.unknownCalls == 1)
    #expect(life.handle(.classified(.lost(timedOut))) == .ends(.unknown, "a", reason: timedOut, attempts: 1))
  }

  @Test func `A job may have its own word for unknown`() {
    var facts = facts()
    facts.unknownReason = Reason("LOST", "Sign in again.")
    let own = Reason("LOST", "Sign in again.", providerCode: "21211")
    var life = calling(facts)
    _ = life.handle(.classified(.unknown(badNumber)))
    #expect(life.handle(.lookedUp(nil)) == .ends(.unknown, "a", reason: own, attempts: 1))
    facts.deadline = start
    facts.unknownCalls = 1
    life = self.life(facts)
    _ = life.begin(now: start)
    #expect(
      life.handle(.claimAnswered(.claimed(unknownCalls: 1)))
        == .ends(.unknown, reason: facts.unknownReason, attempts: 0))
  }

  @Test func `A job that is harmless however often is sent again until its deadline`() {
    var facts = facts(unknownCalls: 1000)
    facts.onUnknown = .resendUntilDeadline
    var life = calling(facts)
    _ = life.handle(.classified(.unknown(timedOut)))
    #expect(life.handle(.lookedUp(nil)) == .postpone)
    life = calling(facts)
    _ = life.handle(.classified(.unknown(timedOut)))
    #expect(
      life.handle(.lookedUp(nil), now: start + .seconds(599))
        == .ends(.unknown, "a", reason: timedOut, attempts: 1))
  }

  @Test func `The result that another recorded first stands`() {
    var life = calling(facts())
    _ = life.handle(.classified(.unknown(timedOut)))
    _ = life.handle(.lookedUp(nil))
    #expect(life.handle(.settled(standing: [4])) == .publish(recorded: [4]))
  }

  @Test func `A result that cannot be published comes back later`() {
    var life = calling(facts())
    _ = life.handle(.classified(.accepted(reference: nil)))
    _ = life.handle(.settled(standing: nil))
    #expect(life.handle(.undeliverable) == delay(.thirtySeconds, counts: false, .resultUndeliverable))
  }
}

extension JobLifecycle.Event {
  fileprivate static let claimed = Self.claimAnswered(.claimed(unknownCalls: 0))
}

extension JobLifecycle {
  fileprivate mutating func handle(_ event: Event) -> Action { handle(event, now: start) }
}

extension JobLifecycle.Action {
  fileprivate static func ends(
    _ outcome: JobOutcome, _ lane: String? = nil, reason: Reason? = nil, reference: String? = nil,
    extras: ResultExtras = [:], attempts: Int
  ) -> Self {
    .settle(
      JobEnding(outcome: outcome, lane: lane, reference: reference, reason: reason, extras: extras, attempts: attempts))
  }
}
