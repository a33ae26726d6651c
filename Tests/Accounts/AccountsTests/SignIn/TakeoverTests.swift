import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("What gives no account away", .timeLimit(.minutes(10)))
struct TakeoverTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private static let old = Duration.seconds(301)
  private static let fictional = ScriptedCoordinator.Verification(isFictional: true)

  private func token(_ subject: String, _ email: String? = nil, serial: Int = 0) -> FakeProvider.Token {
    var token = FakeProvider.Token(subject, email: email)
    token.serial = serial
    return token
  }

  private func error(_ message: Message) throws -> APIErrorCode? {
    message.type == ErrorReply.type.text ? try ErrorReply(json: message.body).error.code : nil
  }

  // MARK: Addresses

  @Test func `An identity that joins by an address is worth no more than the one that owns the address`() async throws {
    let victim = try await bench.signIn("p")
    bench.clock.advance(by: Self.old)
    _ = try await bench.signIn(at: "google.com", token("t", "thief@example.com"), idToken: victim.idToken)
    let thief = try await bench.signIn(at: "apple.com", token("ta", " Thief@example.com"))
    #expect(thief.reply.localID == victim.reply.localID)
    #expect(try error(await bench.delete(try #require(thief.idToken))) == .credentialTooOld)
    #expect(try error(await bench.unlink(thief.idToken)) == .credentialTooOld)
    let account = try #require(try await bench.account(of: victim))
    #expect(account.identity(at: "apple.com")?.trustedFrom == account.identity(at: "google.com")?.trustedFrom)
    bench.clock.advance(by: SensitiveAct.distrust)
    let late = try await bench.signIn(at: "apple.com", token("ta", serial: 1))
    #expect(try error(await bench.delete(try #require(late.idToken))) == nil)
  }

  @Test func `One that joins by the address of a trusted identity is trusted at once`() async throws {
    _ = try await bench.signIn(at: "google.com", token("g", "ada@example.com"))
    let user = try await bench.signIn(at: "apple.com", token("a", "ada@example.com"))
    #expect(user.reply.isNewUser == false)
    #expect(try error(await bench.delete(try #require(user.idToken))) == nil)
  }

  @Test func `An identity that was unlinked comes back by a link, not by its address`() async throws {
    let user = try await bench.signIn(at: "google.com", token("g", "ada@example.com"))
    _ = try await bench.signIn(at: "apple.com", token("a", "ada@example.com"))
    _ = try await bench.unlink("apple.com", idToken: user.idToken)
    let refused = try await bench.signIn(at: "apple.com", token("a", "ada@example.com", serial: 1))
    #expect(refused.reply.needsConfirmation == true && refused.reply.verifiedProviders == ["google.com"])
    // Another one of that provider may still join.
    let other = try await bench.signIn(at: "apple.com", token("b", "ada@example.com", serial: 1))
    #expect(other.reply.localID == user.reply.localID)
    _ = try await bench.unlink("apple.com", idToken: user.idToken)
    #expect(try await bench.account(of: user)?.unlinked.count == 2)
    let linked = try await bench.signIn(pending: refused.pending, idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID)
    #expect(try await bench.account(of: user)?.unlinked.count == 1)
    #expect(try await bench.signIn(at: "apple.com", token("a", serial: 2)).reply.localID == user.reply.localID)
  }

  @Test func `The last sixteen that were unlinked are known`() throws {
    var account = try AccountRecord("x", project: AccountsBench.project, at: bench.clock.now())
    for index in 0..<17 {
      account.add(LinkedIdentity(provider: "apple.com", subject: "\(index)", linkedAt: bench.clock.now()))
      account.unlink(["apple.com"])
    }
    #expect(account.unlinked.count == 16)
    #expect(!account.hasUnlinked("0", at: "apple.com") && account.hasUnlinked("16", at: "apple.com"))
  }

  // MARK: Unlinking

  @Test func `The last trusted way to sign in goes only after a recent sign-in`() async throws {
    let user = try await bench.signIn(at: "google.com", token("g"))
    bench.clock.advance(by: Self.old)
    #expect(try error(await bench.unlink("google.com", idToken: user.idToken)) == .credentialTooOld)
    // A thief's own way is not trusted.
    _ = try await bench.signIn(at: "facebook.com", token("thief"), idToken: user.idToken)
    #expect(try error(await bench.unlink("google.com", idToken: user.idToken)) == .credentialTooOld)
    #expect(try error(await bench.delete(try #require(user.idToken))) == .credentialTooOld)
    let thief = try await bench.signIn(at: "facebook.com", token("thief"))
    #expect(try error(await bench.unlink("google.com", idToken: thief.idToken)) == .credentialTooOld)
    // Its owner may take it away, and go.
    #expect(try error(await bench.unlink("facebook.com", idToken: user.idToken)) == nil)
    let fresh = try await bench.signIn(at: "google.com", token("g"))
    #expect(try error(await bench.unlink("google.com", idToken: fresh.idToken)) == nil)
  }

  @Test func `Unlinking ends the other sessions that the identity began`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "apple.com", token("a"), idToken: user.idToken)
    let other = try await bench.signIn(at: "apple.com", token("a", serial: 1))
    let phone = try await bench.signIn("q")
    _ = try await bench.unlink("apple.com", idToken: user.idToken)
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    #expect(try await bench.refusal(of: user.idToken) == nil)
    #expect(try await bench.refusal(of: phone.idToken) == nil)
  }

  @Test func `A session is not recent by another identity of its provider`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "apple.com", token("a"), idToken: user.idToken)
    let other = try await bench.signIn(at: "apple.com", token("a", serial: 1))
    _ = try await bench.unlink("apple.com", idToken: other.idToken)
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.signIn(at: "apple.com", token("b"), idToken: user.idToken)
    #expect(try error(await bench.delete(try #require(other.idToken))) == .credentialTooOld)
  }

  // MARK: Fictional numbers

  @Test func `A real proof takes the number from an account whose identity anyone may have linked`() async throws {
    let guest = try await bench.signIn("a", verification: Self.fictional)
    _ = try await bench.signIn(at: "google.com", token("g"), idToken: guest.idToken)
    #expect(try await bench.signIn("b", operation: .reauthenticate).error?.code == .userNotFound)
    #expect(try await bench.account(of: guest)?.phoneNumber != nil)
    let owner = try await bench.signIn("c")
    #expect(owner.reply.isNewUser == true && owner.reply.localID != guest.reply.localID)
    let event = try #require(bench.events("account.unlinked").first)
    let unlinked = try AccountUnlinked(json: event.message.body)
    #expect(unlinked.provider == "phone" && unlinked.localID == guest.reply.localID)
    #expect(try await bench.refusal(of: guest.idToken)?.code == .tokenExpired)
    let back = try await bench.signIn(at: "google.com", token("g"))
    #expect(back.reply.localID == guest.reply.localID)
    #expect(try await bench.lookUp(try #require(back.idToken)).get().phoneNumber == nil)
    #expect(try await bench.signIn("d").reply.localID == owner.reply.localID)
  }

  @Test func `A link takes it likewise, and a disabled account keeps it`() async throws {
    let guest = try await bench.signIn("a", verification: Self.fictional)
    _ = try await bench.signIn(at: "google.com", token("g"), idToken: guest.idToken)
    let record = try #require(try await bench.account(of: guest))
    try await bench.change(record) { account, _ in account.isDisabled = true }
    #expect(try await bench.signIn("b").error?.code == .userDisabled)
    try await bench.change(record) { account, _ in account.isDisabled = false }
    let user = try await bench.signUp("u")
    let linked = try await bench.signIn("c", idToken: user.idToken, operation: .link)
    #expect(linked.reply.localID == user.reply.localID && linked.reply.phoneNumber == AccountsBench.number)
    #expect(try await bench.account(of: guest)?.phoneNumber == nil)
  }

  @Test func `Else the first real proof ends all sessions, whatever began them`() async throws {
    let guest = try await bench.signIn("a", verification: Self.fictional)
    let record = try #require(try await bench.account(of: guest))
    let sessions = bench.parts.sessions
    try await bench.change(record) { account, set throws(StoreError) in
      _ = try sessions.start(for: &account, by: SignInProvider(name: "google.com"), RandomValues(), in: &set)
    }
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signIn("b")
    let account = try #require(try await bench.account(of: owner))
    #expect(account.localID == record.localID)
    #expect(try await bench.sessions(of: account).map(\.id.text) == [owner.claims?.sessionID])
    #expect(account.validSince.seconds == bench.clock.now().seconds)
  }

  // MARK: What is used up

  @Test func `A disabled account spends a token that counts once`() async throws {
    let user = try await bench.signIn(at: "apple.com", token("a"))
    let record = try #require(try await bench.account(of: user))
    try await bench.change(record) { account, _ in account.isDisabled = true }
    #expect(try await bench.signIn(at: "apple.com", token("a", serial: 1)).error?.code == .userDisabled)
    try await bench.change(record) { account, _ in account.isDisabled = false }
    let again = try await bench.signIn(at: "apple.com", token("a", serial: 1))
    #expect(again.error?.reason == "DUPLICATE_CREDENTIAL")
  }

  @Test func `The use of a token is remembered for a minute beyond its end`() async throws {
    let credential = try bench.credential("apple.com", token("a"))
    let until = bench.clock.now() + .seconds(3600)
    _ = try await bench.signIn(at: "apple.com", token("a"))
    let spent = SpentCredential(value: [try #require(credential.idToken)], until: until)
    let used = try #require(UsedCredential(spent, of: "apple.com"))
    let record = try await bench.look { set throws(StoreError) in try set.record(used.id) }
    #expect(record?.discardAt == until + .seconds(60))
  }

  @Test func `A refused link by a pending token leaves no identity in the inbox`() async throws {
    _ = try await bench.signIn(at: "apple.com", token("a"))
    let user = try await bench.signUp("u")
    let first = try await bench.signIn(at: "apple.com", token("a", serial: 1), idToken: user.idToken)
    var credential = IDPCredential()
    credential.pendingToken = try #require(first.pending).reveal()
    let command = try bench.command("l", credential, idToken: user.idToken) { $0.returnIDPCredential = true }
    let refused = try bench.answer(try await bench.ask(command, id: "l"), "l")
    #expect(refused.reply.refusal == .identityAlreadyLinked && refused.identity?.federatedID == "a")
    let again = try bench.answer(try await bench.ask(command, id: "l"), "l")
    #expect(again.error?.code == .identityAlreadyLinked && again.identity == nil)
  }
}
