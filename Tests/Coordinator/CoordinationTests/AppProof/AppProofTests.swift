import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct AppProofTests {
  private let now = UnixTime(seconds: 1_000_000)
  private let policy = ProofPolicy()

  private func proof() -> AppProof {
    var proof = AppProof(
      receipt: "r", app: "a", tokenHash: [1], environment: .unknown, secret: SecretAtRest(pepperID: [], digest: []),
      at: now, under: policy)
    #expect(proof.apply(.issued, at: now, under: policy) == [.push])
    return proof
  }

  private func report(_ outcome: JobReport.Outcome, _ reason: String? = nil) -> AppProofEvent {
    .pushFinished(
      PushReport(
        report: JobReport(number: 1, outcome: outcome, reason: reason.map { VerificationFailure(code: $0) }),
        environment: "sandbox"))
  }

  private func returned(_ matches: Bool = true, app: String = "a") -> AppProofEvent {
    .secretReturned(matches: matches, app: app)
  }

  @Test func `It begins once`() {
    var proof = proof()
    #expect(proof.apply(.issued, at: now, under: policy) == [])
  }

  @Test func `A push that arrives, and the secret that comes back, again and again`() {
    var proof = proof()
    #expect(proof.apply(report(.accepted), at: now, under: policy) == [.forgetRefusal])
    #expect(proof.state == .delivered)
    #expect(proof.apply(returned(), at: now, under: policy) == [.announceVerified, .admit])
    #expect(proof.state == .proven)
    #expect(proof.expiresAt == now + policy.credentialLifetime)
    #expect(proof.apply(returned(), at: now + .seconds(86_400), under: policy) == [.admit])
    #expect(proof.uses == 2)
    #expect(proof.timeline.entries.map(\.kind) == [.started, .pushQueued, .pushAccepted, .proofAccepted])
  }

  @Test func `A secret that overtakes the report of its push`() {
    var proof = proof()
    #expect(proof.apply(returned(), at: now, under: policy) == [.announceVerified, .admit])
    #expect(proof.apply(report(.accepted), at: now, under: policy) == [.forgetRefusal])
    #expect(proof.state == .proven)
  }

  @Test func `A push is reported on once`() {
    var proof = proof()
    _ = proof.apply(report(.accepted), at: now, under: policy)
    let before = proof
    #expect(proof.apply(report(.refused, "UNREGISTERED"), at: now, under: policy) == [])
    #expect(proof == before)
  }

  @Test(arguments: [("UNREGISTERED", true, true), ("WRONG_TOPIC", true, false), ("PAYLOAD_TOO_LARGE", false, false)])
  func `A push that was refused is told of, and remembered when it lies in the token`(
    code: String, isRemembered: Bool, isGone: Bool
  ) {
    var proof = proof()
    let failure = VerificationFailure(code: code)
    let actions = proof.apply(report(.refused, code), at: now, under: policy)
    #expect(actions.first == .announceUnverified(failure))
    #expect(actions.contains(.rememberRefusal(failure)) == isRemembered)
    #expect(actions.contains(.revokeAllOfToken) == isGone)
    #expect(proof.state == .undelivered)
    // Whoever has the secret after all has received it.
    #expect(proof.apply(returned(), at: now, under: policy) == [.announceVerified, .admit])
  }

  @Test func `A push that came to nothing in time is told of; one that may have arrived is not`() {
    var late = proof()
    #expect(
      late.apply(report(.expired, "THROTTLED"), at: now, under: policy)
        == [.announceUnverified(VerificationFailure(code: "THROTTLED"))])
    var unknown = proof()
    #expect(unknown.apply(report(.unknown), at: now, under: policy) == [])
    #expect(unknown.state == .waiting)
  }

  @Test func `A wrong secret, and one of another app, have refusals of their own`() {
    var proof = proof()
    #expect(proof.apply(returned(false), at: now, under: policy) == [.refuse(.wrongSecret)])
    #expect(proof.apply(returned(false, app: "b"), at: now, under: policy) == [.refuse(.wrongSecret)])
    #expect(proof.apply(returned(app: "b"), at: now, under: policy) == [.refuse(.otherApp)])
    #expect(proof.state == .waiting)
    #expect(proof.uses == 0)
  }

  @Test func `A receipt that was never used lives a day, one that was as long as is configured`() {
    var unused = proof()
    #expect(unused.apply(returned(), at: now + .seconds(86_400), under: policy) == [.refuse(.expired)])
    #expect(unused.state == .expired)
    var used = proof()
    _ = used.apply(returned(), at: now, under: policy)
    #expect(used.apply(returned(), at: now + .seconds(6 * 86_400), under: policy) == [.admit])
    #expect(used.apply(returned(), at: now + .seconds(7 * 86_400), under: policy) == [.refuse(.expired)])
    #expect(used.apply(returned(false), at: now + .seconds(7 * 86_400), under: policy) == [.refuse(.wrongSecret)])
  }

  @Test func `A receipt is taken back with its device token, or by the configuration`() {
    var gone = proof()
    #expect(gone.apply(.tokenUnregistered, at: now, under: policy) == [])
    #expect(gone.apply(returned(), at: now, under: policy) == [.refuse(.revoked)])
    var withdrawn = proof()
    _ = withdrawn.apply(.withdrawn(issuedBefore: now), at: now, under: policy)
    #expect(withdrawn.state == .waiting)
    _ = withdrawn.apply(.withdrawn(issuedBefore: now + .seconds(1)), at: now, under: policy)
    #expect(withdrawn.apply(returned(), at: now, under: policy) == [.refuse(.revoked)])
  }
}
