import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("What an ID token alone does not allow", .timeLimit(.minutes(10)))
struct RecentSignInTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private static let second = "+16505550199"
  private static let old = Duration.seconds(301)

  private static func verification(_ number: String = second) -> ScriptedCoordinator.Verification {
    var verification = ScriptedCoordinator.Verification()
    verification.number = number
    return verification
  }

  private static func rules(phone: Bool = true, linking: Bool = false) -> Project.RecentLogin {
    var rules = Project.RecentLogin()
    (rules.phone, rules.linking) = (phone, linking)
    return rules
  }

  private func error(_ message: Message) throws -> APIErrorCode { try ErrorReply(json: message.body).error.code }

  @Test func `A change of number needs a recent sign-in, and uses no code without one`() async throws {
    let user = try await bench.signIn("a")
    bench.clock.advance(by: Self.old)
    bench.coordinator.verifications["v1"] = Self.verification()
    let (checks, compared) = (bench.checks.count, bench.coordinator.compared)
    for operation in [SignInWithPhone.Operation.update, .link, nil] {
      let id = bench.nextID()
      let command = try bench.command(id, idToken: user.idToken, operation: operation)
      #expect(try await bench.error(command, id: id).code == .credentialTooOld)
    }
    #expect(bench.checks.count == checks && bench.coordinator.compared == compared)
    // Signed in again, the same code does it.
    let fresh = try await bench.signIn("b", operation: .reauthenticate)
    let changed = try await bench.signIn(bench.command("c", idToken: fresh.idToken, operation: .update), "c")
    #expect(changed.reply.phoneNumber == Self.second && changed.claims?.sessionID == fresh.claims?.sessionID)
  }

  @Test func `A change of number ends the other sessions, and no other tokens of its own`() async throws {
    let other = try await bench.signIn("a")
    let user = try await bench.signIn("b")
    let before = try #require(try await bench.account(of: user))
    bench.clock.advance(by: .seconds(10))
    _ = try await bench.signIn("c", verification: Self.verification(), idToken: user.idToken)
    let after = try #require(try await bench.account(of: user))
    #expect(after.phoneNumber == Self.second && after.validSince == before.validSince)
    #expect(try await bench.sessions(of: after).map(\.id.text) == [user.claims?.sessionID])
    #expect(try await bench.lookUp(try #require(user.idToken)).get().phoneNumber == Self.second)
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    // The same number again changes nothing, and ends nothing.
    let third = try await bench.signIn("d", verification: Self.verification())
    _ = try await bench.signIn("e", verification: Self.verification(), idToken: user.idToken)
    #expect(try await bench.lookUp(try #require(third.idToken)).get().phoneNumber == Self.second)
  }

  @Test func `The age is measured when the command arrives`() async throws {
    let user = try await bench.signIn("a")
    bench.clock.advance(by: .seconds(299))
    bench.coordinator.verifications["v1"] = Self.verification()
    #expect(try await bench.send(bench.command("b", idToken: user.idToken), id: "b") == nil)
    let check = try #require(bench.checks.first)
    bench.clock.advance(by: .seconds(10))
    await bench.report(try bench.coordinator.answer(check, at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "b").reply.phoneNumber == Self.second)
    #expect(try await bench.account(of: user)?.numberTrustedFrom == nil)
  }

  @Test func `So does the removal of a number, unless the project does without`() async throws {
    let user = try await bench.signIn("a")
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("g"), idToken: user.idToken)
    bench.clock.advance(by: Self.old)
    #expect(try error(await bench.unlink(user.idToken)) == .credentialTooOld)
    // Of the profile it is no matter.
    let renamed = try await bench.update(user.idToken) { $0.displayName = "Ada" }
    #expect(try AccountChanged(json: renamed.body).account.phoneNumber == AccountsBench.number)
    bench.use(AccountsBench.methods, Self.rules(phone: false))
    #expect(try AccountChanged(json: await bench.unlink(user.idToken).body).account.phoneNumber == nil)
    // Where there is none, there is nothing to remove.
    bench.use()
    #expect(try await bench.unlink(user.idToken).type == AccountChanged.type.text)
  }

  @Test func `An anonymous account is deleted, and gets its first number, at any age`() async throws {
    bench.use(AccountsBench.methods, Self.rules(linking: true))
    let one = try await bench.signUp("u")
    let two = try await bench.signUp("w")
    bench.clock.advance(by: Self.old)
    #expect(try await bench.delete(try #require(one.idToken)).type == AccountDeleted.type.text)
    let linked = try await bench.signIn("a", idToken: two.idToken)
    #expect(linked.reply.phoneNumber == AccountsBench.number)
    // From now on it has a way to sign in, and the next sign-in is a recent one.
    #expect(try error(await bench.delete(try #require(linked.idToken))) == .credentialTooOld)
    let fresh = try await bench.signIn("b", operation: .reauthenticate)
    #expect(try await bench.delete(try #require(fresh.idToken)).type == AccountDeleted.type.text)
  }

  @Test func `Of two links of one old token at the same time the second is a change`() async throws {
    let user = try await bench.signUp("u")
    bench.clock.advance(by: Self.old)
    bench.coordinator.verifications["v2"] = Self.verification()
    var checks: [Publication] = []
    for (id, session) in [("a", "v1"), ("b", "v2")] {
      #expect(try await bench.send(bench.command(id, session: session, idToken: user.idToken), id: id) == nil)
      checks += bench.checks
    }
    await bench.report(try bench.coordinator.answer(checks[0], at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "a").reply.phoneNumber == AccountsBench.number)
    await bench.report(try bench.coordinator.answer(checks[1], at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "b").error?.code == .credentialTooOld)
    // The code is not used up by that.
    #expect(try await bench.signIn(bench.command("c", session: "v2"), "c").reply.isNewUser == true)
  }

  @Test func `A number that was linked without a recent sign-in gives none for a day`() async throws {
    let user = try await bench.signIn("a")
    _ = try await bench.unlink(user.idToken)
    bench.clock.advance(by: Self.old)
    bench.use(AccountsBench.methods, Self.rules(linking: true))
    let refused = try await bench.signIn("b", verification: Self.verification(), idToken: user.idToken)
    #expect(refused.error?.code == .credentialTooOld)
    bench.use()
    _ = try await bench.signIn("c", verification: Self.verification(), idToken: user.idToken)
    let early = try await bench.signIn("d", verification: Self.verification(), operation: .reauthenticate)
    #expect(try error(await bench.delete(try #require(early.idToken))) == .credentialTooOld)
    #expect(try error(await bench.unlink(early.idToken)) == .credentialTooOld)
    bench.clock.advance(by: .seconds(86_400))
    let late = try await bench.signIn("e", verification: Self.verification(), operation: .reauthenticate)
    #expect(late.reply.localID == user.reply.localID)
    #expect(try await bench.delete(try #require(late.idToken)).type == AccountDeleted.type.text)
  }

  @Test func `With a recent sign-in the linked number is trusted at once`() async throws {
    let user = try await bench.signIn("a")
    _ = try await bench.unlink(user.idToken)
    bench.use(AccountsBench.methods, Self.rules(linking: true))
    _ = try await bench.signIn("b", verification: Self.verification(), idToken: user.idToken)
    bench.clock.advance(by: Self.old)
    let fresh = try await bench.signIn("c", verification: Self.verification(), operation: .reauthenticate)
    #expect(try await bench.delete(try #require(fresh.idToken)).type == AccountDeleted.type.text)
  }
}
