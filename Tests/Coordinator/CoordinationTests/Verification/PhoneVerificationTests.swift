import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct PhoneVerificationTests {
  let policy = VerificationPolicy()
  let begin = UnixTime(seconds: 1_782_907_200)

  func started(test: Bool = false) -> PhoneVerification {
    var verification = make(test: test)
    _ = verification.apply(.started, at: begin, under: policy)
    return verification
  }

  func make(test: Bool = false) -> PhoneVerification {
    PhoneVerification(
      id: "id", VerificationKey(phoneNumber: "+14155550123", app: "app", purpose: .signIn, isTestNumber: test),
      region: "US", languageCode: "en", code: CodeAtRest(pepperID: [1, 2, 3, 4], seed: [], digest: []), at: begin,
      under: policy)
  }

  func apply(
    _ event: VerificationEvent, to verification: inout PhoneVerification, after seconds: Int
  ) -> [VerificationAction] {
    verification.apply(event, at: begin + .seconds(seconds), under: policy)
  }

  func check(_ matches: Bool, _ verification: inout PhoneVerification, after seconds: Int) -> [VerificationAction] {
    let actions = apply(.checkRequested, to: &verification, after: seconds)
    guard actions == [.compareCode] else { return actions }
    return apply(.codeCompared(matches: matches), to: &verification, after: seconds)
  }

  @Test func `A start sends one message and says so`() {
    var verification = make()
    let actions = verification.apply(.started, at: begin, under: policy)
    #expect(actions == [.announce(.started), .sendMessage(number: 1), .answerStarted(resent: false)])
    #expect(verification.state == .sending)
    #expect(verification.expiresAt == begin + .seconds(300))
    #expect(verification.resendAfter == begin + .seconds(30))
    #expect(verification.apply(.started, at: begin, under: policy).isEmpty)
  }

  @Test func `Asking again sends the same code only when the gap is over, and the gaps grow`() {
    var verification = started()
    #expect(apply(.startedAgain(languageCode: nil), to: &verification, after: 29) == [.answerStarted(resent: false)])
    #expect(verification.messages.count == 1)
    let second = apply(.startedAgain(languageCode: "fr"), to: &verification, after: 30)
    #expect(second == [.sendMessage(number: 2), .answerStarted(resent: true)])
    #expect(verification.languageCode == "fr")
    #expect(verification.resendAfter == begin + .seconds(90))
    #expect(apply(.startedAgain(languageCode: nil), to: &verification, after: 89) == [.answerStarted(resent: false)])
    _ = apply(.startedAgain(languageCode: nil), to: &verification, after: 90)
    #expect(verification.resendAfter == begin + .seconds(210))
    _ = apply(.startedAgain(languageCode: nil), to: &verification, after: 210)
    #expect(verification.resendAfter == begin + .seconds(330))
    #expect(verification.messages.count == 4)
  }

  @Test func `A code that is sent again stays valid a while, but never beyond the longest life`() {
    var verification = started()
    _ = apply(.startedAgain(languageCode: nil), to: &verification, after: 200)
    #expect(verification.expiresAt == begin + .seconds(500))
    _ = apply(.startedAgain(languageCode: nil), to: &verification, after: 450)
    #expect(verification.expiresAt == begin + .seconds(600))
    #expect(apply(.deadlinePassed, to: &verification, after: 599).isEmpty)
    #expect(apply(.deadlinePassed, to: &verification, after: 600) == [.announce(.expired)])
  }

  @Test(arguments: [(540_000, false), (540_001, true), (599_999, true), (600_000, false)])
  func `A code is worth to be sent again while a minute is left of the longest life`(milliseconds: Int, isTooOld: Bool)
  {
    var verification = started()
    verification.expiresAt = begin + .seconds(600)
    #expect(verification.isTooOldToResend(at: begin + .milliseconds(milliseconds), under: policy) == isTooOld)
    let brief = VerificationPolicy(lifetime: .seconds(10), maximumLifetime: .seconds(600))
    #expect(!verification.isTooOldToResend(at: begin + .seconds(590), under: brief))
    #expect(verification.isTooOldToResend(at: begin + .seconds(591), under: brief))
  }

  @Test func `However small the gaps are, the messages are bounded`() {
    var verification = started()
    let eager = VerificationPolicy(resendGaps: [.zero])
    for _ in 0..<50 { _ = verification.apply(.startedAgain(languageCode: nil), at: begin + .seconds(31), under: eager) }
    #expect(verification.messages.count == VerificationPolicy.maxMessages)
    #expect(verification.timeline.entries.count <= Timeline.capacity)
  }

  @Test func `The right code approves, once`() {
    var verification = started()
    _ = apply(.jobFinished(JobReport(number: 1, outcome: .accepted)), to: &verification, after: 1)
    #expect(verification.state == .sent)
    #expect(check(true, &verification, after: 20) == [.announce(.approved), .answerApproved])
    #expect(verification.state == .approved)
    #expect(check(true, &verification, after: 21) == [.refuse(.alreadyUsed)])
    #expect(check(false, &verification, after: 21) == [.refuse(.expired)])
    #expect(verification.state == .approved)
  }

  @Test func `A used code is compared as often again as a code may be checked, and then no more`() {
    var verification = started()
    _ = check(true, &verification, after: 20)
    for _ in 0..<9 { #expect(apply(.checkRequested, to: &verification, after: 21) == [.compareCode]) }
    #expect(apply(.checkRequested, to: &verification, after: 21) == [.refuse(.expired)])
    #expect(verification.checks == 10)
  }

  @Test func `A code may come back before the worker's report does`() {
    var verification = started()
    #expect(check(true, &verification, after: 1) == [.announce(.approved), .answerApproved])
    let late = apply(
      .jobFinished(JobReport(number: 1, outcome: .accepted, lane: "a")), to: &verification, after: 2)
    #expect(late.isEmpty)
    #expect(verification.state == .approved)
    #expect(verification.timeline.entries.last?.kind == .smsAccepted)
    #expect(verification.timeline.entries.last?.lane == "a")
  }

  @Test func `A check is counted before the code is compared`() {
    var verification = started()
    #expect(apply(.checkRequested, to: &verification, after: 1) == [.compareCode])
    #expect(verification.checks == 1)
  }

  @Test func `The fifth wrong code ends it; the right one comes too late then`() {
    var verification = started()
    for left in [4, 3, 2, 1] {
      #expect(check(false, &verification, after: 5) == [.refuse(.wrongCode(checksLeft: left))])
    }
    #expect(check(false, &verification, after: 6) == [.announce(.failed), .refuse(.tooManyAttempts)])
    #expect(verification.state == .failed)
    #expect(check(true, &verification, after: 7) == [.refuse(.tooManyAttempts)])
    #expect(apply(.cancelRequested, to: &verification, after: 8) == [.refuse(.tooManyAttempts)])
  }

  @Test func `The fifth code may be the right one`() {
    var verification = started()
    for _ in 0..<4 { _ = check(false, &verification, after: 5) }
    #expect(check(true, &verification, after: 6) == [.announce(.approved), .answerApproved])
  }

  @Test func `A code is valid until its last millisecond and not at its expiry`() {
    var verification = started()
    #expect(verification.apply(.deadlinePassed, at: begin + .milliseconds(299_999), under: policy).isEmpty)
    var other = verification
    #expect(other.apply(.checkRequested, at: begin + .milliseconds(299_999), under: policy) == [.compareCode])
    #expect(check(true, &verification, after: 300) == [.announce(.expired), .refuse(.expired)])
    #expect(verification.state == .expired)
    #expect(check(true, &verification, after: 301) == [.refuse(.expired)])
    #expect(apply(.deadlinePassed, to: &verification, after: 302).isEmpty)
    #expect(apply(.startedAgain(languageCode: nil), to: &verification, after: 303) == [.answerStarted(resent: false)])
  }

  @Test func `Canceling twice is canceling once`() {
    var verification = started()
    #expect(apply(.cancelRequested, to: &verification, after: 5) == [.announce(.canceled), .answerCanceled])
    #expect(apply(.cancelRequested, to: &verification, after: 6) == [.answerCanceled])
    #expect(check(true, &verification, after: 7) == [.refuse(.canceled)])
  }

  @Test func `An ended verification cannot be canceled`() {
    var approved = started()
    _ = check(true, &approved, after: 1)
    #expect(apply(.cancelRequested, to: &approved, after: 2) == [.refuse(.alreadyUsed)])
    var expired = started()
    #expect(apply(.cancelRequested, to: &expired, after: 400) == [.announce(.expired), .refuse(.expired)])
  }

  @Test func `A refused message fails the verification with the worker's reason`() {
    var verification = started()
    let reason = VerificationFailure(code: "NUMBER_UNREACHABLE", detail: "no such subscriber")
    let report = JobReport(number: 1, outcome: .refused, lane: "a", reason: reason)
    #expect(apply(.jobFinished(report), to: &verification, after: 1) == [.announce(.failed)])
    #expect(verification.failure == reason)
    #expect(check(true, &verification, after: 2) == [.refuse(.notSent(reason))])
  }

  @Test func `A message that was not sent in time fails the verification`() {
    var verification = started()
    #expect(
      apply(.jobFinished(JobReport(number: 1, outcome: .expired)), to: &verification, after: 1) == [.announce(.failed)])
    #expect(verification.failure == .notSentInTime)
  }

  @Test(arguments: [JobReport.Outcome.accepted, .unknown], [JobReport.Outcome.refused, .expired])
  func `One message that may have arrived keeps the verification alive`(
    first: JobReport.Outcome, second: JobReport.Outcome
  ) {
    var verification = started()
    _ = apply(.jobFinished(JobReport(number: 1, outcome: first)), to: &verification, after: 1)
    _ = apply(.startedAgain(languageCode: nil), to: &verification, after: 31)
    #expect(apply(.jobFinished(JobReport(number: 2, outcome: second)), to: &verification, after: 32).isEmpty)
    #expect(verification.state.isLive)
    #expect(check(true, &verification, after: 33) == [.announce(.approved), .answerApproved])
  }

  @Test func `Results in the wrong order: the first message's refusal waits for the second's fate`() {
    var verification = started()
    _ = apply(.startedAgain(languageCode: nil), to: &verification, after: 31)
    #expect(apply(.jobFinished(JobReport(number: 2, outcome: .refused)), to: &verification, after: 32).isEmpty)
    #expect(
      apply(.jobFinished(JobReport(number: 1, outcome: .accepted)), to: &verification, after: 33) == [.announce(.sent)])
    #expect(verification.state == .sent)
  }

  @Test func `An unknown outcome leaves it waiting, and it may be sent again`() {
    var verification = started()
    #expect(apply(.jobFinished(JobReport(number: 1, outcome: .unknown)), to: &verification, after: 10).isEmpty)
    #expect(verification.state == .sending)
    #expect(
      apply(.startedAgain(languageCode: nil), to: &verification, after: 30) == [
        .sendMessage(number: 2), .answerStarted(resent: true),
      ])
  }

  @Test func `A repeated result, or one of a message that was never asked for, changes nothing`() {
    var verification = started()
    let report = JobReport(number: 1, outcome: .accepted)
    #expect(apply(.jobFinished(report), to: &verification, after: 1) == [.announce(.sent)])
    let before = verification
    #expect(apply(.jobFinished(report), to: &verification, after: 2).isEmpty)
    #expect(apply(.jobFinished(JobReport(number: 1, outcome: .refused)), to: &verification, after: 3).isEmpty)
    for number in [0, -1, 2, .max] {
      #expect(apply(.jobFinished(JobReport(number: number, outcome: .refused)), to: &verification, after: 3).isEmpty)
    }
    #expect(verification == before)
  }

  @Test func `A fictional number gets no message, and asking again is answered`() {
    var verification = make(test: true)
    #expect(apply(.started, to: &verification, after: 0) == [.announce(.started), .answerStarted(resent: false)])
    #expect(verification.resendAfter == begin)
    #expect(apply(.startedAgain(languageCode: nil), to: &verification, after: 100) == [.answerStarted(resent: false)])
    #expect(check(true, &verification, after: 101) == [.announce(.approved), .answerApproved])
    #expect(verification.messages.isEmpty)
  }

  @Test(arguments: 0..<200)
  func `No event leaves a final state, whatever comes and in whatever order`(seed: UInt64) {
    var generator = SplitMix(state: seed)
    var verification = started()
    var final: VerificationState?
    for second in 0..<60 {
      let actions = apply(.any(using: &generator), to: &verification, after: second * 12)
      if let final {
        #expect(verification.state == final)
        #expect(!actions.contains { if case .announce = $0 { true } else { false } })
        #expect(!actions.contains { if case .sendMessage = $0 { true } else { false } })
      } else if !verification.state.isLive {
        final = verification.state
        #expect(verification.endedAt == begin + .seconds(second * 12))
      }
      // A used code may be compared as often again.
      #expect(verification.checks <= policy.checksPerCode * (verification.state == .approved ? 2 : 1))
    }
  }
}

extension VerificationEvent {
  fileprivate static func any(using generator: inout SplitMix) -> VerificationEvent {
    let outcomes: [JobReport.Outcome] = [.accepted, .refused, .expired, .unknown]
    return switch generator.next() % 8 {
    case 0: .started
    case 1: .startedAgain(languageCode: nil)
    case 2, 3:
      .jobFinished(JobReport(number: Int(generator.next() % 4), outcome: outcomes[Int(generator.next() % 4)]))
    case 4: .checkRequested
    case 5: .codeCompared(matches: generator.next() % 8 == 0)
    case 6: generator.next() % 6 == 0 ? .cancelRequested : .checkRequested
    default: .deadlinePassed
    }
  }
}
