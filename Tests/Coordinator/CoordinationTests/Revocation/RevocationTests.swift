import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct RevocationTests {
  private let now = UnixTime(seconds: 1_000_000)
  private let policy = RevocationPolicy()
  private static let notice = StartRevocation.Notice(email: "a@example.com")

  private func revocation(notice: StartRevocation.Notice? = notice) -> Revocation {
    var revocation = Revocation(id: "o", app: "a", tokenHash: [1], notice: notice, at: now, under: policy)
    #expect(revocation.apply(.started, at: now, under: policy) == [.announceStarted, .revoke])
    return revocation
  }

  private func report(_ outcome: JobReport.Outcome, _ reason: String? = nil) -> JobReport {
    JobReport(number: 1, outcome: outcome, reason: reason.map { VerificationFailure(code: $0) })
  }

  @Test func `Without a notice it ends when the token is revoked`() {
    var revocation = revocation(notice: nil)
    #expect(revocation.apply(.started, at: now, under: policy) == [])
    #expect(revocation.apply(.revokeFinished(report(.accepted)), at: now, under: policy) == [.announceCompleted])
    #expect(revocation.ending == .revoked)
    #expect(revocation.isGoodForAll)
  }

  @Test(
    arguments: [
      (JobReport.Outcome.accepted, OperationEnding.revokedAndNotified), (.refused, .revokedNoticeRefused),
      (.expired, .revokedNoticeExpired), (.unknown, .revokedNoticeUnknown),
    ])
  func `Every ending of the notice is told apart`(outcome: JobReport.Outcome, ending: OperationEnding) {
    var revocation = revocation()
    #expect(
      revocation.apply(.revokeFinished(report(.accepted)), at: now, under: policy) == [.notify(Self.notice)])
    #expect(revocation.notice == nil)
    #expect(revocation.expiresAt == now + policy.noticeDeadline)
    let reason = outcome == .accepted ? nil : "WHY"
    #expect(
      revocation.apply(.noticeFinished(report(outcome, reason)), at: now, under: policy) == [.announceCompleted])
    #expect(revocation.ending == ending)
    #expect(revocation.state == .completed)
    #expect(revocation.failure?.code == reason)
  }

  @Test(
    arguments: [
      (.refused, "INVALID_GRANT", .refused), (.expired, nil, .expired),
      (.unknown, "NO_ANSWER", .unknown), (.unknown, nil, .unknown), (.unknown, "LOST", .lost),
    ] as [(JobReport.Outcome, String?, OperationEnding)])
  func `Every ending of the revocation is told apart, and no notice is sent of what has not happened`(
    outcome: JobReport.Outcome, reason: String?, ending: OperationEnding
  ) {
    var revocation = revocation()
    #expect(
      revocation.apply(.revokeFinished(report(outcome, reason)), at: now, under: policy) == [.announceFailed])
    #expect(revocation.ending == ending)
    #expect(revocation.state == .failed)
    #expect(revocation.failure != nil)
    #expect(revocation.notice == nil)
    #expect(revocation.isGoodForAll == (ending == .lost))
  }

  @Test func `Reports that come twice, late or out of order change nothing`() {
    var revocation = revocation()
    #expect(revocation.apply(.noticeFinished(report(.accepted)), at: now, under: policy) == [])
    #expect(revocation.state == .revoking)
    _ = revocation.apply(.revokeFinished(report(.accepted)), at: now, under: policy)
    let notifying = revocation
    #expect(revocation.apply(.revokeFinished(report(.refused)), at: now, under: policy) == [])
    #expect(revocation == notifying)
    _ = revocation.apply(.noticeFinished(report(.accepted)), at: now, under: policy)
    let done = revocation
    #expect(revocation.apply(.noticeFinished(report(.refused)), at: now, under: policy) == [])
    #expect(revocation == done)
  }

  @Test func `A known outcome replaces unknown and never the reverse`() {
    var first = revocation(notice: nil)
    #expect(first.apply(.revokeFinished(report(.unknown)), at: now, under: policy) == [.announceFailed])
    #expect(first.apply(.revokeFinished(report(.expired)), at: now, under: policy) == [])
    #expect(first.apply(.revokeFinished(report(.accepted)), at: now, under: policy) == [.announceCompleted])
    #expect(first.state == .completed && first.ending == .revoked && first.failure == nil)
    #expect(first.apply(.revokeFinished(report(.unknown)), at: now, under: policy) == [])
    #expect(first.apply(.revokeFinished(report(.refused)), at: now, under: policy) == [])
    var second = revocation()
    _ = second.apply(.revokeFinished(report(.accepted)), at: now, under: policy)
    _ = second.apply(.noticeFinished(report(.unknown)), at: now, under: policy)
    #expect(second.ending == .revokedNoticeUnknown)
    #expect(second.apply(.noticeFinished(report(.accepted)), at: now, under: policy) == [])
    #expect(second.ending == .revokedAndNotified)
    // A token that one host gives up for lost may be revoked by the one that has it.
    var third = revocation()
    _ = third.apply(.revokeFinished(report(.unknown, "LOST")), at: now, under: policy)
    var refused = third
    #expect(refused.apply(.revokeFinished(report(.refused)), at: now, under: policy) == [])
    #expect(refused.ending == .lost)
    #expect(third.apply(.revokeFinished(report(.accepted)), at: now, under: policy) == [.announceCompleted])
    #expect(third.ending == .revoked)
    // The failure was announced.
    var fourth = revocation(notice: nil)
    _ = fourth.apply(.revokeFinished(report(.unknown)), at: now, under: policy)
    #expect(fourth.apply(.revokeFinished(report(.refused)), at: now, under: policy) == [])
    #expect(fourth.state == .failed && fourth.ending == .refused)
  }

  @Test func `An operation without a report is given up and a later report is only noted`() {
    var revocation = revocation()
    let end = revocation.expiresAt + RevocationPolicy.grace
    #expect(revocation.apply(.deadlinePassed, at: end - .milliseconds(1), under: policy) == [])
    #expect(revocation.apply(.deadlinePassed, at: end, under: policy) == [.announceFailed])
    #expect(revocation.ending == .unknown)
    #expect(revocation.apply(.revokeFinished(report(.accepted)), at: end, under: policy) == [])
    #expect(revocation.timeline.entries.last?.kind == .revokeAccepted)
    #expect(revocation.ending == .unknown)
  }

  @Test func `A notice that no worker reports on leaves the token revoked`() {
    var revocation = revocation()
    _ = revocation.apply(.revokeFinished(report(.accepted)), at: now, under: policy)
    let end = revocation.expiresAt + RevocationPolicy.grace
    #expect(revocation.apply(.deadlinePassed, at: end, under: policy) == [.announceCompleted])
    #expect(revocation.ending == .revokedNoticeUnknown)
  }

  private func confirmations(_ revocation: Revocation) -> [String?] {
    revocation.timeline.entries.filter { $0.kind == .revokeConfirmed }.map(\.detail)
  }

  @Test func `What Apple confirms is noted once, while it runs and after its end, and changes no outcome`() {
    let told = now + .seconds(30)
    for ends in [false, true] {
      var revocation = revocation(notice: nil)
      if ends { _ = revocation.apply(.revokeFinished(report(.accepted)), at: now, under: policy) }
      let before = revocation
      for _ in 0..<2 {
        #expect(revocation.apply(.confirmed(at: told), at: now + .seconds(60), under: policy) == [])
      }
      #expect(confirmations(revocation) == ["by Apple at \(told.rfc3339)"])
      #expect(revocation.state == before.state && revocation.ending == before.ending)
      #expect(revocation.endedAt == before.endedAt && revocation.expiresAt == before.expiresAt)
    }
  }

  @Test(
    arguments: [
      (.unknown, nil, true), (.unknown, "LOST", true), (.refused, "INVALID_GRANT", false), (.expired, nil, false),
    ] as [(JobReport.Outcome, String?, Bool)])
  func `A failed one is confirmed only if Apple may have had the token`(
    outcome: JobReport.Outcome, reason: String?, isNoted: Bool
  ) {
    var revocation = revocation(notice: nil)
    _ = revocation.apply(.revokeFinished(report(outcome, reason)), at: now, under: policy)
    _ = revocation.apply(.confirmed(at: now), at: now, under: policy)
    #expect(confirmations(revocation).isEmpty != isNoted && revocation.state == .failed)
  }

  @Test func `What happened at Apple before it began confirms nothing`() {
    var revocation = revocation(notice: nil)
    _ = revocation.apply(.confirmed(at: now - .seconds(61)), at: now, under: policy)
    #expect(confirmations(revocation) == [])
    _ = revocation.apply(.confirmed(at: now - .seconds(60)), at: now, under: policy)
    #expect(confirmations(revocation).count == 1)
  }
}
