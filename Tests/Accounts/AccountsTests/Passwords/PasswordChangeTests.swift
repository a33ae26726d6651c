import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Changes of address and password", .timeLimit(.minutes(10)))
struct PasswordChangeTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.usePasswords()
  }

  private static let old = Duration.seconds(301)

  private func canSignIn(_ email: String, _ password: String = AccountsBench.password) async throws -> Bool {
    try await bench.signIn(email: email, password).reply.tokens != nil
  }

  // MARK: Password

  @Test func `A new password ends the other sessions, and answers with tokens of this one`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let other = try await bench.signIn(email: AccountsBench.email)
    let before = try #require(try await bench.account(of: user))
    bench.clock.advance(by: .seconds(10))
    let changed = try await bench.change(user.idToken, password: AccountsBench.otherPassword, id: "c")
    #expect(try bench.fields() == [["password"]])
    #expect(try bench.verified(try #require(changed.idToken)).sessionID == user.claims?.sessionID)
    let after = try #require(try await bench.account(of: user))
    #expect(after.passwordChangedAt == bench.clock.now() && after.validSince == before.validSince)
    #expect(changed.account?.passwordChangedAt == after.passwordChangedAt)
    #expect(try await bench.sessions(of: after).map(\.id.text) == [user.claims?.sessionID])
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    #expect(try await bench.refusal(of: bench.refresh(changed.refreshToken)) == nil)
    #expect(try await !canSignIn(AccountsBench.email))
    #expect(try await canSignIn(AccountsBench.email, AccountsBench.otherPassword))
    // The same message is answered with the same session.
    let again = try await bench.change(user.idToken, password: AccountsBench.otherPassword, id: "c")
    #expect(try bench.verified(try #require(again.idToken)).sessionID == user.claims?.sessionID)
    #expect(bench.events("account.updated").isEmpty)
  }

  @Test func `Tokens come both or not at all, and have the new name`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let profile = try await bench.update(user.idToken) { $0.displayName = "Ada" }
    #expect(try AccountChanged(json: profile.body).tokens == nil)
    let changed = try await bench.change(user.idToken, password: AccountsBench.otherPassword) { $0.displayName = "Bo" }
    #expect(changed.idToken != nil && changed.refreshToken != nil && changed.account?.displayName == "Bo")
  }

  @Test func `A weak password changes nothing`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let other = try await bench.signIn(email: AccountsBench.email)
    let refused = try await bench.change(user.idToken, password: "12345")
    #expect(refused.error?.code == .weakPassword && refused.error?.message.contains("12345") == false)
    #expect(try await bench.refusal(of: other.idToken) == nil)
    #expect(try await canSignIn(AccountsBench.email))
  }

  @Test func `An account of Google gets a password for its address`() async throws {
    let user = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: "ada@example.com"))
    let changed = try await bench.change(user.idToken, password: AccountsBench.password)
    #expect(changed.account?.email == "ada@example.com" && changed.account?.emailVerified == true)
    #expect(try await bench.signIn(email: "ada@example.com").reply.localID == user.reply.localID)
    #expect(try await bench.signIn(at: "google.com", FakeProvider.Token("g")).reply.localID == user.reply.localID)
  }

  @Test func `An account without an address gets no password`() async throws {
    let user = try await bench.signIn("p")
    #expect(try await bench.change(user.idToken, password: AccountsBench.password).error != nil)
    #expect(try await bench.account(of: user)?.hasPassword == false)
  }

  @Test func `An ID token alone takes neither address nor password over`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    bench.usePasswords { $0.protectsAddresses = false }
    bench.clock.advance(by: Self.old)
    let token = try await bench.refresh(user.refreshToken)
    #expect(try await bench.change(token, password: AccountsBench.otherPassword).error?.code == .credentialTooOld)
    #expect(try await bench.change(token, email: "bo@example.com").error?.code == .credentialTooOld)
    for change: (inout UpdateAccount) -> Void in [
      { $0.deleteProviders = ["password"] }, { $0.deleteAttributes = ["PASSWORD"] },
      { $0.deleteAttributes = ["EMAIL"] },
    ] {
      let refused = try await bench.update(token, nil, change)
      #expect(try ErrorReply(json: refused.body).error.code == .credentialTooOld)
      // A refused removal leaves the password.
      #expect(try await bench.passwordHash(of: #require(try await bench.account(of: user))) != nil)
    }
    #expect(try ErrorReply(json: await bench.delete(token).body).error.code == .credentialTooOld)
    let fresh = try await bench.signIn(email: AccountsBench.email)
    #expect(try await bench.change(fresh.idToken, password: AccountsBench.otherPassword).error == nil)
  }

  // MARK: Address

  @Test func `Where addresses are protected a new one is proven first`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    _ = try await bench.signUp(email: "taken@example.com")
    for email in ["bo@example.com", "taken@example.com"] {
      let refused = try await bench.change(user.idToken, email: email)
      #expect(refused.error?.code == .operationNotAllowed && refused.error?.reason == "VERIFY_NEW_EMAIL")
    }
    #expect(try await bench.lookUp(try #require(user.idToken)).get().email == AccountsBench.email)
  }

  @Test func `Elsewhere it is changed, is not verified, and ends the other sessions`() async throws {
    bench.usePasswords { $0.protectsAddresses = false }
    let user = try await bench.signUp(email: AccountsBench.email)
    let other = try await bench.signIn(email: AccountsBench.email)
    _ = try await bench.signUp(email: "taken@example.com")
    try await bench.verifyEmail(of: user)
    #expect(try await bench.change(user.idToken, email: "Taken@example.com").error?.code == .emailExists)
    #expect(try await bench.change(user.idToken, email: "bo").error?.code == .invalidEmail)
    let changed = try await bench.change(user.idToken, email: "Bo@example.com")
    let ways = try AccountsBench.Ways(try #require(changed.idToken))
    #expect(ways.email == "Bo@example.com" && ways.isEmailVerified == false)
    #expect(changed.account?.initialEmail == AccountsBench.email)
    #expect(try bench.fields() == [["email"]])
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: AccountsBench.email).error?.code == .emailNotFound)
    #expect(try await bench.signIn(email: "bo@example.com").reply.localID == user.reply.localID)
    // The one of before is free.
    #expect(try await bench.signUp(email: AccountsBench.email).reply.isNewUser == true)
  }

  @Test func `The same address in other letters stays verified`() async throws {
    bench.usePasswords { $0.protectsAddresses = false }
    let user = try await bench.signUp(email: AccountsBench.email)
    try await bench.verifyEmail(of: user)
    let changed = try await bench.change(user.idToken, email: "ada@example.com", password: AccountsBench.otherPassword)
    #expect(changed.account?.emailVerified == true)
  }

  @Test func `New addresses are limited as sign-ups are, and tries at addresses that are taken count`() async throws {
    func setLimit(_ setting: inout AccountsBench.Setting) { setting.limits[.passwordAccountsPerAddress] = 3 }
    try await AccountsBench.with(setLimit) { bench in
      bench.usePasswords()
      let ip = "192.0.2.1"
      func put(_ email: String, on user: AccountsBench.Answer, from ip: String) async throws -> APIErrorCode? {
        try await bench.change(user.idToken, email: email) { $0.client = StartVerification.Client(ip: ip) }.error?.code
      }
      let user = try await bench.signUp(email: "taken@example.com", ip: ip)
      let guest = try await bench.signUp("guest")
      for _ in 0..<2 { #expect(try await put("Taken@example.com", on: guest, from: ip) == .emailExists) }
      #expect(try await put("taken@example.com", on: guest, from: ip) == .tooManyAttempts)
      #expect(try await put("free@example.com", on: guest, from: ip) == .tooManyAttempts)
      #expect(try await bench.signUp(email: "free@example.com", ip: ip).error?.code == .tooManyAttempts)
      // An address that the account has tells nothing.
      #expect(try await put("Taken@example.com", on: user, from: ip) == nil)
      #expect(try await put("free@example.com", on: guest, from: "198.51.100.1") == nil)
      #expect(bench.metric(#"countersign_account_limit_refusals_total{limit="password_accounts_address"}"#) == 3)
    }
  }

  // MARK: Removal

  @Test(arguments: [(["password"], []), ([], ["PASSWORD", "EMAIL"]), ([], ["EMAIL"])])
  func `Address and password go, with the sessions that they began, and the account stays`(
    providers: [String], attributes: [String]
  ) async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let other = try await bench.signIn(email: AccountsBench.email)
    let reply = try await bench.update(user.idToken) {
      $0.deleteProviders = providers
      $0.deleteAttributes = attributes
    }
    let account = try AccountChanged(json: reply.body).account
    #expect(account.localID == user.reply.localID && account.email == nil && account.passwordChangedAt == nil)
    #expect(try bench.providers(of: "account.unlinked") == ["password"])
    #expect(try await bench.passwordHash(of: #require(try await bench.account(of: user))) == nil)
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    #expect(try await !canSignIn(AccountsBench.email))
    let next = try await bench.signUp(email: AccountsBench.email)
    #expect(next.reply.isNewUser == true && next.reply.localID != user.reply.localID)
  }

  @Test func `A password alone goes, and its address stays taken`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signUp(email: AccountsBench.email, idToken: user.idToken)
    let reply = try await bench.update(user.idToken) { $0.deleteAttributes = ["PASSWORD"] }
    let account = try AccountChanged(json: reply.body).account
    #expect(account.email == AccountsBench.email && account.passwordChangedAt == nil)
    #expect(try await !canSignIn(AccountsBench.email))
    #expect(try await bench.signUp(email: AccountsBench.email).error?.code == .emailExists)
  }

  @Test func `An account with a number keeps it when the password goes`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signUp(email: AccountsBench.email, idToken: user.idToken)
    #expect(try await bench.unlink("password", idToken: user.idToken).type == AccountChanged.type.text)
    #expect(try await bench.signIn("q").reply.localID == user.reply.localID)
  }
}
