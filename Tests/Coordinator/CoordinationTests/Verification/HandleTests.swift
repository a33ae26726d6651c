import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct HandleTests {
  let policy = VerificationPolicy()
  let begin = UnixTime(seconds: 1_782_907_200)

  private func started() -> PhoneVerification {
    var verification = PhoneVerification(
      id: "first", VerificationKey(phoneNumber: "+14155550123", app: "app", purpose: .signIn, requester: [1]),
      region: "US", languageCode: "en", code: CodeAtRest(pepperID: [1, 2, 3, 4], seed: [], digest: []), at: begin,
      under: policy)
    _ = verification.apply(.started, at: begin, under: policy)
    return verification
  }

  @discardableResult
  private func join(
    _ verification: inout PhoneVerification, _ id: String, isProven: Bool = false, sends: Bool = true,
    after seconds: Int = 1
  ) -> [VerificationAction] {
    let now = begin + .seconds(seconds)
    let handle = VerificationHandle(id: id, requester: Array(id.utf8), isProven: isProven, at: now)
    return verification.apply(.joined(handle, sends: sends, languageCode: nil), at: now, under: policy)
  }

  private func check(
    _ verification: inout PhoneVerification, _ handle: Int, _ matches: Bool, after seconds: Int = 5
  ) -> [VerificationAction] {
    let now = begin + .seconds(seconds)
    let actions = verification.apply(.checkRequested, through: handle, at: now, under: policy)
    guard actions == [.compareCode] else { return actions }
    return verification.apply(.codeCompared(matches: matches), through: handle, at: now, under: policy)
  }

  @Test func `A later requester gets a handle, and no message before the gap is over`() {
    var verification = started()
    #expect(join(&verification, "b") == [.announce(.started, to: 2), .answerStarted(resent: false)])
    #expect(verification.messages.count == 1)
    #expect(
      join(&verification, "c", after: 30) == [
        .announce(.started, to: 3), .sendMessage(number: 2), .answerStarted(resent: false),
      ])
    #expect(verification.asker(ofMessage: 2) == 3 && verification.asker(ofMessage: 1) == 1)
    #expect(join(&verification, "d", sends: false, after: 100).count == 2)
    #expect(verification.messages.count == 2)
    #expect(verification.handle(withID: "c") == 3 && verification.handle(withID: "x") == nil)
    #expect(verification.openHandle { $0 == Array("b".utf8) } == 2)
  }

  @Test func `The first has five guesses whatever the others do, and they have two of one who has proven nothing`() {
    var verification = started()
    for id in ["b", "c"] { join(&verification, id) }
    #expect(check(&verification, 2, false) == [.refuse(.wrongCode(checksLeft: 1))])
    #expect(check(&verification, 3, false) == [.refuse(.sharedChecksUsed(wait: .seconds(295)))])
    // Neither handle is over: they may ask for another code when this one is.
    #expect(check(&verification, 2, true) == [.refuse(.sharedChecksUsed(wait: .seconds(295)))])
    #expect(verification.isOpen(2) && verification.isOpen(3))
    for left in [4, 3, 2, 1] { #expect(check(&verification, 1, false) == [.refuse(.wrongCode(checksLeft: left))]) }
    #expect(
      check(&verification, 1, true) == [
        .announce(.approved), .announce(.expired, to: 2),
        .announce(.expired, to: 3), .answerApproved,
      ])
  }

  @Test func `The last three guesses of all are for proven devices; ten are made of a code in all`() {
    var verification = started()
    join(&verification, "b")
    for _ in 0..<2 { _ = check(&verification, 2, false) }
    join(&verification, "c", isProven: true)
    #expect(check(&verification, 3, false) == [.refuse(.wrongCode(checksLeft: 2))])
    #expect(check(&verification, 3, false) == [.refuse(.wrongCode(checksLeft: 1))])
    #expect(check(&verification, 3, false) == [.announce(.failed, to: 3), .refuse(.tooManyAttempts)])
    join(&verification, "d", isProven: true)
    #expect(check(&verification, 4, true) == [.refuse(.sharedChecksUsed(wait: .seconds(295)))])
    #expect(verification.canComeBack(through: nil, isProven: false, under: policy))
    for _ in 0..<5 { _ = check(&verification, 1, false) }
    #expect(verification.handleNumbers.reduce(0) { $0 + verification.checks(of: $1) } == 10)
    #expect(verification.isOpen(2) && !verification.isOpen(1) && !verification.isOpen(3))
    #expect(check(&verification, 2, true) == [.refuse(.sharedChecksUsed(wait: .seconds(295)))])
    // It is over when somebody asks again.
    for own in [nil, 2, 4] {
      for isProven in [false, true] {
        #expect(!verification.canComeBack(through: own, isProven: isProven, under: policy))
      }
    }
  }

  @Test func `A code comes back as long as an open handle, or who asks next, has a guess left`() {
    var verification = started()
    join(&verification, "b")
    join(&verification, "c")
    for handle in [2, 3] { _ = check(&verification, handle, false) }
    for _ in 0..<5 { _ = check(&verification, 1, false) }
    #expect(verification.openHandles == [2, 3])
    #expect(!verification.canComeBack(through: nil, isProven: false, under: policy))
    #expect(!verification.canComeBack(through: 2, isProven: false, under: policy))
    #expect(verification.canComeBack(through: nil, isProven: true, under: policy))
    var proven = verification
    proven.prove(2)
    #expect(proven.canComeBack(through: 2, isProven: true, under: policy))
    #expect(check(&proven, 2, true).contains(.answerApproved))
    // A proven device that holds a handle keeps the code alive for all.
    join(&verification, "d", isProven: true)
    #expect(verification.canComeBack(through: nil, isProven: false, under: policy))
  }

  @Test func `A requester that cancels and asks again keeps its handle`() {
    var verification = started()
    join(&verification, "b")
    _ = check(&verification, 1, false)
    let at = begin + .seconds(6)
    let again = VerificationEvent.reopened(sends: true, languageCode: nil)
    #expect(verification.apply(again, at: at, under: policy).isEmpty)
    _ = verification.apply(.cancelRequested, at: at, under: policy)
    #expect(verification.handleToGoOn { $0 == [1] } == 1 && verification.openHandle { $0 == [1] } == nil)
    #expect(
      verification.apply(again, at: at, under: policy) == [.announce(.started), .answerStarted(resent: false)])
    #expect(verification.handleNumbers.count == 2 && verification.reopenings(of: 1) == 1)
    #expect(
      verification.view(through: 1).timeline.map(\.kind) == [.started, .smsQueued, .wrongCode, .canceled, .started])
    #expect(check(&verification, 1, false) == [.refuse(.wrongCode(checksLeft: 3))])
    _ = verification.apply(.cancelRequested, through: 2, at: at, under: policy)
    let later = begin + .seconds(30)
    #expect(
      verification.apply(again, through: 2, at: later, under: policy) == [
        .announce(.started, to: 2), .sendMessage(number: 2), .answerStarted(resent: true),
      ])
    for _ in 0..<3 { _ = check(&verification, 1, false, after: 31) }
    #expect(verification.apply(again, at: later, under: policy).isEmpty)
    #expect(!verification.isOpen(1) && verification.isOpen(2))
  }

  @Test func `Canceling, or guessing too often, ends one handle; with the last one the code ends`() {
    var verification = started()
    join(&verification, "b")
    let at = begin + .seconds(6)
    #expect(
      verification.apply(.cancelRequested, at: at, under: policy) == [.announce(.canceled), .answerCanceled])
    #expect(verification.apply(.cancelRequested, at: at, under: policy) == [.answerCanceled])
    #expect(check(&verification, 1, true) == [.refuse(.canceled)])
    #expect(verification.state.isLive && verification.view(through: 1).state == .canceled)
    #expect(verification.view(through: 2).state == .sending)
    #expect(
      verification.apply(.cancelRequested, through: 2, at: at, under: policy) == [
        .announce(.canceled, to: 2), .answerCanceled,
      ])
    #expect(verification.state == .canceled)

    var other = started()
    join(&other, "b")
    for _ in 0..<5 { _ = check(&other, 1, false) }
    #expect(other.state.isLive && other.view(through: 1).state == .failed)
    #expect(other.view(through: 1).failure == .tooManyAttempts && other.view(through: 2).failure == nil)
    #expect(check(&other, 2, true) == [.announce(.approved, to: 2), .answerApproved])
    #expect(other.view(through: 1).state == .failed && other.view(through: 2).state == .approved)
  }

  @Test func `A handle shows nothing of another one: not what it did, and not that its code came back`() {
    var verification = started()
    join(&verification, "b")
    _ = check(&verification, 1, false)
    _ = check(&verification, 2, false, after: 6)
    _ = check(&verification, 1, true, after: 7)
    let first = verification.view(through: 1)
    #expect(first.state == .approved)
    #expect(first.timeline.map(\.kind) == [.started, .smsQueued, .wrongCode, .approved])
    let second = verification.view(through: 2)
    #expect(second.state == .expired && second.failure == nil && second.expiresAt == begin + .seconds(7))
    #expect(second.timeline.map(\.kind) == [.started, .wrongCode, .expired])
    #expect(check(&verification, 2, true) == [.refuse(.alreadyUsed)])
    #expect(check(&verification, 2, false) == [.refuse(.expired)])
    #expect(
      verification.apply(.cancelRequested, through: 2, at: begin + .seconds(9), under: policy) == [.refuse(.expired)])
  }

  @Test func `Reports are told to whoever asked for the message; an end of the code to all`() {
    var verification = started()
    join(&verification, "b", after: 30)
    let at = begin + .seconds(31)
    #expect(
      verification.apply(.jobFinished(JobReport(number: 2, outcome: .accepted)), at: at, under: policy) == [
        .announce(.sent, to: 2)
      ])
    #expect(
      verification.apply(.deliveryReported(DeliveryReport(number: 2, isDelivered: true)), at: at, under: policy) == [
        .announce(.delivered, to: 2)
      ])
    #expect(verification.view(through: 1).timeline.map(\.kind) == [.started, .smsQueued])
    #expect(
      verification.view(through: 2).timeline.map(\.kind) == [.started, .smsQueued, .smsAccepted, .smsDelivered])
    #expect(
      verification.apply(.deadlinePassed, at: begin + .seconds(330), under: policy) == [
        .announce(.expired), .announce(.expired, to: 2),
      ])

    var refused = started()
    join(&refused, "b")
    #expect(
      refused.apply(.jobFinished(JobReport(number: 1, outcome: .refused)), at: at, under: policy) == [
        .announce(.failed), .announce(.failed, to: 2),
      ])
  }

  @Test func `A code has sixteen handles, the last four for proven devices`() {
    var verification = started()
    for number in 2...12 { join(&verification, "h\(number)") }
    #expect(!verification.hasRoom(forProven: false) && verification.hasRoom(forProven: true))
    #expect(join(&verification, "one too many").isEmpty)
    for number in 13...16 { join(&verification, "h\(number)", isProven: true) }
    #expect(!verification.hasRoom(forProven: true))
    #expect(verification.handleNumbers.count == 16)
  }
}
