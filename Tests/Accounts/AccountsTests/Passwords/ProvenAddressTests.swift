import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("A provider vouches for the address of an account with a password", .timeLimit(.minutes(10)))
struct ProvenAddressTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.usePasswords()
  }

  private static let address = "ada@example.com"

  private func token(_ subject: String, _ email: String? = address, serial: Int = 0) -> FakeProvider.Token {
    var token = FakeProvider.Token(subject, email: email)
    token.serial = serial
    return token
  }

  @Test(arguments: ["google.com", "apple.com"])
  func `Whoever made the account without the address loses it`(provider: String) async throws {
    let early = try await bench.signUp(email: " Ada@Example.com")
    _ = try await bench.signIn("p", idToken: early.idToken)
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signIn(at: provider, token("owner"))
    #expect(owner.reply.localID == early.reply.localID && owner.reply.isNewUser == false)
    #expect(owner.ways?.isEmailVerified == true)
    #expect(try Set(bench.providers(of: "account.unlinked")) == ["phone", "password"])
    let account = try #require(try await bench.account(of: owner))
    #expect(account.ways == [provider] && !account.hasPassword && account.phoneNumber == nil)
    #expect(try await bench.passwordHash(of: account) == nil)
    #expect(try await bench.sessions(of: account).map(\.id.text) == [owner.claims?.sessionID])
    #expect(try await bench.refusal(of: early.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: Self.address).error?.code == .invalidLoginCredentials)
    // The number is free, and the owner's sign-in is a recent one.
    #expect(try await bench.signIn("q").reply.localID != owner.reply.localID)
    let changed = try await bench.change(owner.idToken, password: AccountsBench.otherPassword)
    #expect(changed.account?.emailVerified == true)
  }

  @Test func `So it is with an identity of the same provider that was put there before`() async throws {
    let early = try await bench.signUp(email: Self.address)
    _ = try await bench.signIn(at: "google.com", token("thief", "thief@example.com"), idToken: early.idToken)
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signIn(at: "google.com", token("owner"))
    #expect(owner.reply.localID == early.reply.localID && owner.reply.tokens != nil)
    #expect(try await bench.account(of: owner)?.identities.map(\.subject) == ["owner"])
    let thief = try await bench.signIn(at: "google.com", token("thief", "thief@example.com"))
    #expect(thief.reply.isNewUser == true)
  }

  @Test func `An address that was proven keeps its password, and joins`() async throws {
    let user = try await bench.signUp(email: Self.address)
    try await bench.verifyEmail(of: user)
    let joined = try await bench.signIn(at: "google.com", token("g"))
    #expect(joined.reply.localID == user.reply.localID)
    #expect(try await bench.account(of: user)?.ways == ["google.com", "password"])
    #expect(try await bench.signIn(email: Self.address).reply.localID == user.reply.localID)
    #expect(try await bench.refusal(of: user.idToken) == nil)
    #expect(try await bench.delete(try #require(joined.idToken)).type == AccountDeleted.type.text)
  }

  @Test func `What joins is worth no more than an address that was linked without a recent sign-in`() async throws {
    let victim = try await bench.signIn("p")
    bench.clock.advance(by: .seconds(301))
    let linked = try await bench.signUp(email: Self.address, idToken: victim.idToken)
    try await bench.verifyEmail(of: linked)
    let thief = try await bench.signIn(at: "google.com", token("thief"))
    #expect(thief.reply.localID == victim.reply.localID)
    let refused = try await bench.delete(try #require(thief.idToken))
    #expect(try ErrorReply(json: refused.body).error.code == .credentialTooOld)
  }

  @Test func `A provider that is not believed asks the owner`() async throws {
    _ = try await bench.signUp(email: Self.address)
    let refused = try await bench.signIn(at: "facebook.com", token("f"))
    #expect(refused.reply.needsConfirmation == true && refused.reply.verifiedProviders == ["password"])
    #expect(refused.reply.tokens == nil)
    #expect(try await bench.signIn(email: Self.address).reply.tokens != nil)
  }

  @Test func `A link of the identity that has the address proves it, and keeps the password`() async throws {
    let user = try await bench.signUp(email: Self.address)
    let linked = try await bench.signIn(at: "google.com", token("g"), idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID && linked.ways?.isEmailVerified == true)
    #expect(try await bench.signIn(email: Self.address).reply.localID == user.reply.localID)
  }

  @Test func `A disabled account stays as it is`() async throws {
    let user = try await bench.signUp(email: Self.address)
    let account = try #require(try await bench.account(of: user))
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await bench.signIn(at: "google.com", token("g")).error?.code == .userDisabled)
    #expect(try await bench.passwordHash(of: account) != nil)
    #expect(try await bench.account(of: user)?.ways == ["password"])
  }
}
