import CountersignTelemetry
import Testing

@testable import Push

@Suite struct AccessTokenStateTests {
  private func token(_ number: Int, seconds: Int64, from now: MonotonicTime = Sample.moment) -> AccessToken {
    AccessToken(text: Secret("t\(number)"), number: number, expiresAt: now + .seconds(seconds))
  }

  /// The step as a word, with the number of the token that it uses.
  private func step(_ state: AccessTokenState, after seconds: Int64) -> String {
    switch state.step(now: Sample.moment + .seconds(seconds)) {
    case .use(let token): "use \(token.number)"
    case .useAndRenew(let token): "use \(token.number) and renew"
    case .wait: "wait"
    case .waitAndRenew: "wait and renew"
    }
  }

  private func state(with token: AccessToken) -> AccessTokenState {
    var state = AccessTokenState()
    state.beginRenewal()
    state.endRenewal(with: token, now: Sample.moment)
    return state
  }

  @Test func `The first one is waited for`() {
    var state = AccessTokenState()
    #expect(step(state, after: 0) == "wait and renew")
    state.beginRenewal()
    #expect(step(state, after: 0) == "wait")
    state.endRenewal(with: token(1, seconds: 3599), now: Sample.moment)
    #expect(step(state, after: 0) == "use 1")
  }

  @Test(
    arguments: [
      (0, "use 1"), (3298, "use 1"), (3299, "use 1 and renew"), (3588, "use 1 and renew"), (3589, "wait and renew"),
      (9999, "wait and renew"),
    ] as [(Int64, String)])
  func `It is renewed before it expires`(seconds: Int64, expected: String) {
    #expect(step(state(with: token(1, seconds: 3599)), after: seconds) == expected)
  }

  @Test(
    arguments: [(99, "use 1"), (100, "use 1 and renew"), (190, "wait and renew")] as [(Int64, String)])
  func `A short life is halved`(seconds: Int64, expected: String) {
    #expect(step(state(with: token(1, seconds: 200)), after: seconds) == expected)
  }

  @Test func `A renewal does not hold anybody up`() {
    var state = state(with: token(1, seconds: 3599))
    state.beginRenewal()
    #expect(step(state, after: 3400) == "use 1")
    #expect(step(state, after: 3589) == "wait")
    state.endRenewal(
      with: token(2, seconds: 3599, from: Sample.moment + .seconds(3400)), now: Sample.moment + .seconds(3400))
    #expect(step(state, after: 3401) == "use 2")
  }

  @Test func `A renewal that fails is repeated after a pause`() {
    var state = state(with: token(1, seconds: 3599))
    state.beginRenewal()
    state.failRenewal(now: Sample.moment + .seconds(3300))
    #expect(step(state, after: 3329) == "use 1")
    #expect(step(state, after: 3330) == "use 1 and renew")
    #expect(step(state, after: 3595) == "wait and renew")
  }

  @Test func `Without any there is no pause`() {
    var state = AccessTokenState()
    state.beginRenewal()
    state.failRenewal(now: Sample.moment)
    #expect(step(state, after: 0) == "wait and renew")
  }

  @Test func `A rejected token is not shown again`() {
    var state = state(with: token(1, seconds: 3599))
    state.drop(token(1, seconds: 3599))
    #expect(step(state, after: 0) == "wait and renew")
    state.beginRenewal()
    state.drop(token(1, seconds: 3599))
    state.endRenewal(with: token(2, seconds: 3599), now: Sample.moment)
    // Who asked with the old one learns of it late.
    state.drop(token(1, seconds: 3599))
    #expect(step(state, after: 0) == "use 2")
  }
}
