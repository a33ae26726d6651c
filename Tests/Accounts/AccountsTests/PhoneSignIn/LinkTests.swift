import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("Linking a number, temporary proofs and fictional numbers", .timeLimit(.minutes(10)))
struct LinkTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private static let second = "+16505550199"

  private static func verification(_ number: String, isFictional: Bool = false) -> ScriptedCoordinator.Verification {
    var verification = ScriptedCoordinator.Verification()
    verification.number = number
    verification.isFictional = isFictional
    return verification
  }

  @Test func `A free number is put on the token's account, in the same session`() async throws {
    let user = try await bench.signUp("u")
    bench.clock.advance(by: .seconds(100))
    let linked = try await bench.signIn("a", idToken: user.idToken, operation: .link)
    #expect(linked.reply.localID == user.reply.localID && linked.reply.isNewUser == false)
    #expect(linked.claims?.sessionID == user.claims?.sessionID)
    #expect(linked.claims?.authTime == user.claims?.authTime)
    let event = try #require(bench.events("account.updated").first)
    #expect(try AccountUpdated(json: event.message.body).fields == ["phoneNumber"])
    #expect(try await bench.signIn("b").reply.localID == user.reply.localID)
    // Another number takes its place, and the first is free.
    let changed = try await bench.signIn(
      "c", verification: Self.verification(Self.second), idToken: linked.idToken, operation: .update)
    #expect(changed.reply.localID == user.reply.localID && changed.reply.phoneNumber == Self.second)
    #expect(try await bench.signIn("d").reply.isNewUser == true)
  }

  @Test func `After a link the session names the number, at once and when it is refreshed; its sign-in stays`()
    async throws
  {
    let user = try await bench.signUp("u")
    #expect(user.ways?.provider == "anonymous" && user.ways?.providerID == "anonymous")
    bench.clock.advance(by: .seconds(1000))
    let linked = try await bench.signIn("a", idToken: user.idToken, operation: .link)
    // Another tab has the refresh token from before.
    for token in [try #require(linked.idToken), try await bench.refresh(user.refreshToken)] {
      let ways = try AccountsBench.Ways(token)
      #expect(ways.provider == "phone" && ways.providerID == nil && ways.number == AccountsBench.number)
    }
    let account = try #require(try await bench.account(of: linked))
    let session = try #require(try await bench.sessions(of: account).first)
    #expect(session.firstFactor == .anonymous && session.provider == .phone)
    #expect(session.authTime.seconds == user.claims?.authTime.seconds && !account.isAnonymous)
    // Without its number it is an account that has lost its last way in, and not an anonymous one.
    let again = try await bench.signIn("b", operation: .reauthenticate)
    _ = try await bench.unlink(again.idToken)
    for refreshToken in [again.refreshToken, user.refreshToken] {
      let ways = try AccountsBench.Ways(try await bench.refresh(refreshToken))
      #expect(ways.provider == "phone" && ways.providerID == nil && ways.number == nil)
    }
  }

  @Test func `Linking needs a valid ID token, before the code is used`() async throws {
    let bare = try await bench.error(bench.command("a", operation: .link), id: "a")
    #expect(bare.code == .missingIDToken)
    let user = try await bench.signUp("u")
    let token = try #require(user.idToken)
    let forged = Secret(String(token.reveal().dropLast(4)) + "AAAA")
    #expect(try await bench.error(bench.command("b", idToken: forged), id: "b").code == .invalidIDToken)
    _ = try await bench.delete(token)
    #expect(try await bench.error(bench.command("c", idToken: token), id: "c").code == .userNotFound)
    #expect(bench.checks.isEmpty && bench.coordinator.compared == 0)
  }

  @Test func `An account that is deleted while the coordinator is asked is not linked`() async throws {
    let token = try #require(try await bench.signUp("u").idToken)
    #expect(try await bench.send(bench.command("a", idToken: token), id: "a") == nil)
    let check = try #require(bench.checks.first)
    _ = try await bench.delete(token)
    await bench.report(try bench.coordinator.answer(check, at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "a").error?.code == .userNotFound)
    #expect(try await bench.signIn(bench.command("b"), "b").reply.isNewUser == true)
  }

  // MARK: Temporary proofs

  @Test func `A number of another account yields a proof, which signs in to that account once`() async throws {
    let holder = try await bench.signIn("h")
    let user = try await bench.signUp("u")
    let refused = try await bench.signIn("a", idToken: user.idToken, operation: .link)
    #expect(refused.reply.localID == nil && refused.idToken == nil)
    #expect(refused.reply.phoneNumber == AccountsBench.number && refused.reply.temporaryProofExpiresIn == 3600)
    let proof = try #require(refused.proof)
    // The same message gets the same proof; the code is used for any other.
    let message = try bench.command("a", session: "v-a", idToken: user.idToken, operation: .link)
    let again = try bench.answer(try await bench.ask(message, id: "a"), "a")
    #expect(again.proof?.reveal() == proof.reveal())
    #expect(try await bench.signIn(bench.command("b", session: "v-a"), "b").error?.reason == "CODE_USED")
    let other = try bench.command("c", proof: proof, number: Self.second)
    #expect(try await bench.error(other, id: "c").code == .invalidTemporaryProof)
    let elsewhere = try bench.command("f", proof: proof, app: "com.example.other")
    #expect(try await bench.error(elsewhere, id: "f").code == .invalidTemporaryProof)
    let signedIn = try await bench.signIn(bench.command("d", proof: proof), "d")
    #expect(signedIn.reply.localID == holder.reply.localID && signedIn.reply.isNewUser == false)
    #expect(try await bench.error(bench.command("e", proof: proof), id: "e").code == .invalidTemporaryProof)
  }

  @Test func `A proof with an ID token of another account is spent, and yields no other`() async throws {
    _ = try await bench.signIn("h")
    let user = try await bench.signUp("u")
    let proof = try #require(try await bench.signIn("a", idToken: user.idToken).proof)
    let refused = try await bench.signIn(bench.command("b", proof: proof, idToken: user.idToken), "b")
    #expect(refused.error?.code == .phoneNumberExists && refused.proof == nil)
    #expect(try await bench.error(bench.command("c", proof: proof), id: "c").code == .invalidTemporaryProof)
  }

  @Test func `A proof expires, and makes no account when its holder is gone`() async throws {
    let holder = try await bench.signIn("h")
    let user = try await bench.signUp("u")
    let first = try #require(try await bench.signIn("a", idToken: user.idToken).proof)
    let second = try #require(try await bench.signIn("b", idToken: user.idToken).proof)
    _ = try await bench.delete(try #require(holder.idToken))
    #expect(try await bench.error(bench.command("c", proof: first), id: "c").code == .userNotFound)
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.error(bench.command("d", proof: second), id: "d").code == .invalidTemporaryProof)
  }

  // MARK: Re-authentication

  @Test func `A re-authentication moves auth_time, and makes no account`() async throws {
    let unknown = try await bench.signIn(bench.command("a", operation: .reauthenticate), "a")
    #expect(unknown.error?.code == .userNotFound && bench.events("account.created").isEmpty)
    // The code is not used up by that.
    let first = try await bench.signIn(bench.command("b"), "b")
    #expect(first.reply.isNewUser == true)
    bench.clock.advance(by: .seconds(1000))
    let again = try await bench.signIn("c", idToken: first.idToken, operation: .reauthenticate)
    #expect(again.reply.localID == first.reply.localID)
    #expect(try #require(again.claims).authTime > (try #require(first.claims)).authTime)
    let user = try await bench.signUp("u")
    let other = try await bench.signIn("d", idToken: user.idToken, operation: .reauthenticate)
    #expect(other.error?.code == .userNotFound)
  }

  // MARK: Fictional numbers

  @Test func `A fictional code does not open an account whose number was proven for real`() async throws {
    _ = try await bench.signIn("h")
    let fictional = Self.verification(AccountsBench.number, isFictional: true)
    #expect(try await bench.signIn("a", verification: fictional).error?.code == .operationNotAllowed)
    let user = try await bench.signUp("u")
    let linked = try await bench.signIn("b", verification: fictional, idToken: user.idToken)
    #expect(linked.error?.code == .operationNotAllowed && linked.proof == nil)
    // The doctor is told.
    #expect(bench.parts.rules.fictionalRefusals.total >= 2)
  }

  @Test func `The first real proof ends the sessions of a fictional number`() async throws {
    let fictional = Self.verification(AccountsBench.number, isFictional: true)
    let guest = try await bench.signIn("a", verification: fictional)
    #expect(guest.reply.isNewUser == true)
    #expect(try await bench.signIn("b", verification: fictional).reply.localID == guest.reply.localID)
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signIn("c")
    #expect(owner.reply.localID == guest.reply.localID && owner.reply.isNewUser == false)
    #expect(try await bench.refusal(of: guest.idToken)?.code == .tokenExpired)
    #expect(try await bench.lookUp(try #require(owner.idToken)).get().phoneNumber == AccountsBench.number)
    #expect(try await bench.signIn("d", verification: fictional).error?.code == .operationNotAllowed)
  }

  @Test func `Unlinking a fictional number keeps no session of it beyond the first real proof`() async throws {
    let guest = try await bench.signIn(
      "a", verification: Self.verification(AccountsBench.number, isFictional: true))
    let token = try #require(guest.idToken)
    #expect(try await bench.unlink(token).type == AccountChanged.type.text)
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signIn(
      "b", verification: Self.verification(Self.second), idToken: token, operation: .link)
    #expect(owner.reply.phoneNumber == Self.second && owner.claims?.sessionID != guest.claims?.sessionID)
    #expect(try await bench.refusal(of: token)?.code == .tokenExpired)
  }

  @Test func `A temporary proof is not spent for a requester that has gone`() async throws {
    let holder = try await bench.signIn("h")
    let user = try await bench.signUp("u")
    let proof = try #require(try await bench.signIn("a", idToken: user.idToken).proof)
    let message = try bench.message(bench.command("b", proof: proof), id: "b")
    bench.clock.advance(by: .seconds(20))
    let late = try bench.answer(try await bench.ask(message), "b")
    #expect(late.error?.reason == "COMMAND_TOO_OLD")
    #expect(try await bench.signIn(bench.command("c", proof: proof), "c").reply.localID == holder.reply.localID)
  }

  @Test func `A real proof with a token of the fictional session begins a new one`() async throws {
    let guest = try await bench.signIn(
      "a", verification: Self.verification(AccountsBench.number, isFictional: true))
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signIn("b", idToken: guest.idToken)
    #expect(owner.reply.localID == guest.reply.localID)
    #expect(owner.claims?.sessionID != guest.claims?.sessionID)
    #expect(try await bench.refusal(of: guest.idToken)?.code == .tokenExpired)
  }
}
