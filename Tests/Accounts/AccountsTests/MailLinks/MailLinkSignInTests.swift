import CountersignMessages
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Signing in by the link of a mail", .timeLimit(.minutes(10)))
struct MailLinkSignInTests {
  private static let address = AccountsBench.address
  private static let other = AccountsBench.otherAddress
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useLinks()
  }

  @Test func `An address that an old sign-in put on an account is its prover's alone for a day`()
    async throws
  {
    let user = try await bench.signIn("a")
    bench.clock.advance(by: .seconds(301))
    #expect(try await bench.signUp(email: Self.other, idToken: user.idToken).error == nil)
    let before = try #require(try await bench.account(of: user))
    #expect(before.emailTrustedFrom != nil && before.phoneNumber != nil)
    #expect(try await bench.sendLink(.resetPassword, to: Self.other).mails.isEmpty)
    #expect(try await bench.account(of: user) == before)
    let owner = try await bench.signInByLink(Self.other)
    #expect(owner.reply.isNewUser == true && owner.reply.localID != user.reply.localID)
    let after = try #require(try await bench.account(of: user))
    #expect(after.ways == ["phone"] && after.email == nil && !after.hasPassword)
    #expect(after.validSince == before.validSince)
  }

  @Test func `A new address makes an account, and the link counts once`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    let user = try await bench.signIn(link: code, email: "Ada@Example.com")
    #expect(user.reply.isNewUser == true && user.ways?.provider == "password" && user.ways?.isEmailVerified == true)
    #expect(user.identity?.email == "Ada@Example.com")
    let account = try #require(try await bench.account(of: user))
    #expect(account.signsInByLink && !account.hasPassword && account.ways == ["password"])
    #expect(try await bench.signIn(link: code).error?.code == .invalidOobCode)
    let again = try await bench.signInByLink()
    #expect(again.reply.localID == user.reply.localID && again.reply.isNewUser == false)
  }

  @Test func `A stranger who signs up with the address neither voids the link nor stays in`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    let stranger = try await bench.signUp(email: Self.address)
    bench.clock.advance(by: .seconds(1))
    let user = try await bench.signIn(link: code)
    #expect(user.error == nil && user.reply.localID == stranger.reply.localID)
    #expect(try await bench.account(of: user)?.hasPassword == false)
    #expect(try await bench.refusal(of: stranger.idToken)?.code == .tokenExpired)
  }

  @Test func `The same message gets its tokens again`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    let first = try await bench.signIn(link: code, id: "m")
    let again = try await bench.signIn(link: code, id: "m")
    #expect(again.claims?.sessionID == first.claims?.sessionID && again.reply.isNewUser == true)
    #expect(again.identity == first.identity)
  }

  @Test func `Scanners that look at a link spend nothing`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    for _ in 0..<10 {
      let looked = try await bench.apply(code, isLook: true)
      #expect(looked.reply?.purpose == .signIn && looked.reply?.localID == nil)
    }
    #expect(try await bench.apply(code).error == .invalidOobCode)
    #expect(try await bench.signIn(link: code).reply.isNewUser == true)
  }

  @Test func `Six hours are the end of a link`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    let late = try await bench.sendLink(.signIn, to: Self.address).code
    bench.clock.advance(by: .seconds(6 * 3600 - 1))
    #expect(try await bench.signIn(link: code).error == nil)
    bench.clock.advance(by: .seconds(2))
    #expect(try await bench.signIn(link: late).error?.code == .expiredOobCode)
    #expect(try await bench.apply(late, isLook: true).error == .expiredOobCode)
  }

  @Test func `A link is for its address, its purpose and its project`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    let refused = try await bench.signIn(link: code, email: Self.other)
    #expect(refused.error?.code == .invalidEmail && refused.error?.reason == "OTHER_ADDRESS")
    #expect(try await bench.signIn(link: code, email: "ada").error?.code == .invalidEmail)
    #expect(try await bench.signIn(link: code, email: nil).error?.code == .missingEmail)
    #expect(try await bench.signIn(link: "").error?.code == .missingOobCode)
    #expect(try await bench.signIn(link: "no code").error?.code == .invalidOobCode)
    #expect(try await bench.signIn(link: String(repeating: "a", count: 10_000)).error?.code == .invalidOobCode)
    #expect(try await bench.signIn(link: code) { $0.app = "com.example.foreign" }.error?.code != nil)
    #expect(try await bench.signIn(link: code).error == nil)
    let reset = try await bench.sendLink(.resetPassword, to: Self.address).code
    #expect(try await bench.signIn(link: reset).error?.code == .invalidOobCode)
  }

  @Test func `Without the method no link is mailed or taken`() async throws {
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    bench.useLinks { $0.methods.remove(.emailLink) }
    #expect(try await bench.sendLink(.signIn, to: Self.address).error?.code == .operationNotAllowed)
    #expect(try await bench.signIn(link: code).error?.code == .operationNotAllowed)
    // Links need no password.
    bench.useLinks { $0.methods.remove(.password) }
    #expect(try await bench.signIn(link: code).error == nil)
  }

  @Test func `Whoever made the account without the address loses it`() async throws {
    let early = try await bench.signUp(email: Self.address)
    _ = try await bench.signIn("p", idToken: early.idToken)
    bench.clock.advance(by: .seconds(10))
    let owner = try await bench.signInByLink()
    #expect(owner.reply.localID == early.reply.localID && owner.reply.isNewUser == false)
    #expect(try bench.providers(of: "account.unlinked").contains("phone"))
    let account = try #require(try await bench.account(of: owner))
    #expect(account.ways == ["password"] && !account.hasPassword && account.phoneNumber == nil)
    #expect(try await bench.passwordHash(of: account) == nil)
    #expect(try await bench.refusal(of: early.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: Self.address).error?.code == .invalidLoginCredentials)
  }

  @Test func `A proven account keeps its password, whose change voids links of before`() async throws {
    let user = try await bench.signUp(email: Self.address)
    try await bench.verifyEmail(of: user)
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    #expect(try await bench.signInByLink().reply.localID == user.reply.localID)
    let signedIn = try await bench.signIn(email: Self.address)
    #expect(signedIn.error == nil)
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.change(signedIn.idToken, password: AccountsBench.otherPassword).error == nil)
    #expect(try await bench.signIn(link: code).error?.code == .invalidOobCode)
    #expect(try await bench.apply(code, isLook: true).error == .invalidOobCode)
  }

  @Test func `Two mails of a new user both count, in any order`() async throws {
    let codes = [
      try await bench.sendLink(.signIn, to: Self.address).code,
      try await bench.sendLink(.signIn, to: Self.address).code,
    ]
    let second = try await bench.signIn(link: codes[1])
    #expect(try await bench.signIn(link: codes[0]).reply.localID == second.reply.localID)
  }

  @Test func `A disabled account is not opened, and the link stays good`() async throws {
    let user = try await bench.signInByLink()
    let account = try #require(try await bench.account(of: user))
    let code = try await bench.sendLink(.signIn, to: Self.address).code
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await bench.signIn(link: code).error?.code == .userDisabled)
    try await bench.change(account) { account, _ in account.isDisabled = false }
    #expect(try await bench.signIn(link: code).error == nil)
  }

  @Test func `An ID token adds the address to its account`() async throws {
    let user = try await bench.signIn("p")
    let linked = try await bench.signInByLink(idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID && linked.claims?.sessionID == user.claims?.sessionID)
    #expect(try await bench.account(of: user)?.ways == ["phone", "password"])
    // Another address of the account, and the address of another account.
    #expect(try await bench.signInByLink(Self.other, idToken: user.idToken).error?.code == .emailExists)
    let stranger = try await bench.signUp("guest")
    #expect(try await bench.signInByLink(idToken: stranger.idToken).error?.code == .emailExists)
  }

  @Test func `Links are worth no more than the identity that owns the address`() async throws {
    let phone = try await bench.signIn("p")
    bench.clock.advance(by: .seconds(600))
    // Linked without a recent sign-in: whoever did it may have found the token.
    _ = try await bench.signIn(
      at: "google.com", FakeProvider.Token("thief", email: Self.address), idToken: phone.idToken)
    let thief = try await bench.signInByLink()
    #expect(thief.reply.localID == phone.reply.localID)
    #expect(try await bench.account(of: thief)?.emailTrustedFrom != nil)
    let change = try await bench.change(thief.idToken, password: AccountsBench.otherPassword)
    #expect(change.error?.code == .credentialTooOld)
  }
}
