import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Accounts with a password", .timeLimit(.minutes(10)))
struct PasswordSignUpTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.usePasswords()
  }

  private static let old = Duration.seconds(301)

  // MARK: New accounts

  @Test func `Address and password make an account, once for a message`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email, id: "a", name: "Ada King")
    #expect(user.reply.isNewUser == true && user.identity?.email == AccountsBench.email)
    #expect(user.ways?.provider == "password" && user.ways?.firebase.identities == ["email": [AccountsBench.email]])
    #expect(user.ways?.email == AccountsBench.email && user.ways?.isEmailVerified == false)
    #expect(try bench.providers(of: "account.created") == ["password"])
    #expect(try bench.providers(of: "account.signIn") == ["password"])
    let view = try await bench.lookUp(try #require(user.idToken)).get()
    #expect(view.email == AccountsBench.email && view.emailVerified == false && view.displayName == "Ada King")
    #expect(view.passwordChangedAt == bench.clock.now() && view.initialEmail == AccountsBench.email)
    let again = try await bench.signUp(email: AccountsBench.email, id: "a", name: "Ada King")
    #expect(again.claims?.sessionID == user.claims?.sessionID && again.identity?.email == AccountsBench.email)
    #expect(again.reply.isNewUser == true && bench.events("account.created").isEmpty)
  }

  @Test func `The hash is a record of its own, by today's algorithm`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let account = try #require(try await bench.account(of: user))
    let hash = try #require(try await bench.passwordHash(of: account))
    #expect(try hash.isCurrent && hash.matches(Secret(AccountsBench.password)))
    #expect(try !hash.matches(Secret(AccountsBench.otherPassword)))
    let stored = try await bench.look { set throws(StoreError) in try set.record(account.id)?.body }
    #expect(!String(decoding: try #require(stored), as: UTF8.self).contains("argon2"))
  }

  private static let refused: [(String?, String?, APIErrorCode)] = [
    (nil, "correct horse", APIErrorCode.missingEmail), ("", "correct horse", .missingEmail),
    ("ada", "correct horse", .invalidEmail), ("ada@", "correct horse", .invalidEmail),
    ("@example.com", "correct horse", .invalidEmail), ("a@b@example.com", "correct horse", .invalidEmail),
    ("ada @example.com", "correct horse", .invalidEmail), ("ada@exa mple.com", "correct horse", .invalidEmail),
    ("ada@example..com", "correct horse", .invalidEmail), ("a\n@example.com", "correct horse", .invalidEmail),
    (String(repeating: "a", count: 300) + "@example.com", "correct horse", .invalidEmail),
    ("ada@example.com", nil, .missingPassword), ("ada@example.com", "", .missingPassword),
    ("ada@example.com", "12345", .weakPassword),
    ("ada@example.com", String(repeating: "x", count: 4097), .weakPassword),
    ("ada@example.com", String(repeating: "é", count: 2049), .weakPassword),
  ]

  @Test(arguments: refused)
  func `Addresses that are none, and passwords that are none or weak, make none`(
    email: String?, password: String?, code: APIErrorCode
  ) async throws {
    let refused = try await bench.signUp(email: email, password)
    #expect(refused.error?.code == code)
    #expect(bench.events("account.created").isEmpty)
  }

  @Test(arguments: ["      ", "pass wörd 日本語", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", String(repeating: "x", count: 4096)])
  func `Any other password is one, to the last letter`(password: String) async throws {
    let user = try await bench.signUp(email: AccountsBench.email, password)
    #expect(try await bench.signIn(email: AccountsBench.email, password).reply.localID == user.reply.localID)
    let refused = try await bench.signIn(email: AccountsBench.email, password.dropLast() + "?")
    #expect(refused.error?.code == .invalidLoginCredentials)
  }

  @Test func `A password follows the rules of the project, whose first broken one is told`() async throws {
    bench.usePasswords { project in
      project.passwords.minLength = 8
      project.passwords.needsLowercase = true
      project.passwords.needsUppercase = true
      project.passwords.needsDigit = true
      project.passwords.needsSymbol = true
    }
    let refusals = [
      "aA1!": "at least 8 characters", "AAAAAA1!": "lower case", "aaaaaa1!": "upper case", "aaaaaaA!": "numeric",
      "aaaaaaA1": "non-alphanumeric",
    ]
    for (password, text) in refusals {
      let error = try #require(try await bench.signUp(email: AccountsBench.email, password).error)
      #expect(error.code == .weakPassword && error.message.contains(text), "\(error.message)")
      #expect(!error.message.contains(password))
    }
    for password in ["aaaaaA1!", "aaaaaA1 ", "aaaaaA1€"] {
      #expect(try await bench.signUp(email: "\(bench.nextID())@example.com", password).reply.isNewUser == true)
    }
  }

  @Test func `An address has one account, however it is written, and whoever vouches for it`() async throws {
    _ = try await bench.signUp(email: AccountsBench.email)
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: "bo@example.com"))
    for email in ["ada@example.com", " ADA@EXAMPLE.COM ", "Bo@example.com"] {
      let refused = try await bench.signUp(email: email, AccountsBench.otherPassword)
      #expect(refused.error?.code == .emailExists && refused.error?.field == "email")
    }
    let user = try await bench.signIn(email: AccountsBench.email)
    #expect(user.reply.isNewUser == false)
  }

  @Test func `Of two that come at once one gets the address`() async throws {
    let messages = try (0..<4).map { index in
      try bench.message(bench.signingUp(id: "u\(index)"), id: "u\(index)")
    }
    await bench.deliver(batch: messages)
    #expect(bench.events("account.created").count == 1 && bench.replies.count == 4)
    let codes = try bench.replies.filter { $0.type == ErrorReply.type.text }.map {
      try ErrorReply(json: $0.body).error.code
    }
    #expect(codes == Array(repeating: .emailExists, count: 3))
  }

  @Test func `Accounts of an address are limited, and tries at addresses that are taken count`() async throws {
    func setLimit(_ setting: inout AccountsBench.Setting) { setting.limits[.passwordAccountsPerAddress] = 3 }
    try await AccountsBench.with(setLimit) { bench in
      bench.usePasswords()
      let ip = "192.0.2.1"
      #expect(try await bench.signUp(email: "a@example.com", ip: ip).reply.isNewUser == true)
      #expect(try await bench.signUp(email: "a@example.com", ip: ip).error?.code == .emailExists)
      let guest = try await bench.signUp("guest")
      #expect(
        try await bench.signUp(email: "a@example.com", idToken: guest.idToken, ip: ip).error?.code == .emailExists)
      for idToken in [nil, guest.idToken] {
        let refused = try await bench.signUp(email: "b@example.com", idToken: idToken, ip: ip).error
        #expect(refused?.code == .tooManyAttempts && (3600...3660).contains(refused?.retryAfter ?? 0))
      }
      #expect(try await bench.signUp(email: "b@example.com", ip: "198.51.100.1").reply.isNewUser == true)
      bench.clock.advance(by: .seconds(3660))
      #expect(try await bench.signUp(email: "c@example.com", ip: ip).reply.isNewUser == true)
    }
  }

  // MARK: Accounts that stand

  @Test func `An anonymous account becomes permanent under its ID`() async throws {
    let guest = try await bench.signUp("g")
    let linked = try await bench.signUp(email: AccountsBench.email, idToken: guest.idToken)
    #expect(linked.reply.localID == guest.reply.localID && linked.reply.isNewUser == false)
    #expect(linked.claims?.sessionID == guest.claims?.sessionID && linked.ways?.provider == "password")
    #expect(linked.ways?.providerID == nil && linked.ways?.email == AccountsBench.email)
    #expect(try bench.providers(of: "account.linked") == ["password"])
    #expect(try bench.fields() == [["email", "password"]])
    let account = try #require(try await bench.account(of: guest))
    #expect(!account.isAnonymous && account.endsAt == nil && account.emailTrustedFrom == nil)
    let refreshed = try await bench.refresh(guest.refreshToken)
    #expect(try AccountsBench.Ways(refreshed).provider == "password")
    bench.clock.advance(by: SessionRules().unusedFor)
    await bench.maintenance.tidy()
    #expect(try await bench.signIn(email: AccountsBench.email).reply.localID == guest.reply.localID)
  }

  @Test func `An address of another account is put on none`() async throws {
    _ = try await bench.signUp(email: AccountsBench.email)
    let guest = try await bench.signUp("g")
    let refused = try await bench.signUp(email: "ada@example.com", idToken: guest.idToken)
    #expect(refused.error?.code == .emailExists)
    let account = try #require(try await bench.account(of: guest))
    #expect(account.isAnonymous && account.email == nil && !account.hasPassword)
  }

  @Test func `Google and a password of the same address lead to one account, and Google vouches for it`() async throws {
    let google = FakeProvider.Token("g", email: "ada@example.com")
    let user = try await bench.signIn(at: "google.com", google)
    let linked = try await bench.signUp(email: AccountsBench.email, idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID && linked.ways?.isEmailVerified == true)
    #expect(try await bench.signIn(email: AccountsBench.email).reply.localID == user.reply.localID)
    #expect(try await bench.signIn(at: "google.com", google).reply.localID == user.reply.localID)
    // Each alone, too.
    #expect(try await bench.unlink("google.com", idToken: linked.idToken).type == AccountChanged.type.text)
    #expect(try await bench.signIn(email: AccountsBench.email).reply.localID == user.reply.localID)
  }

  @Test func `A password that was linked without a recent sign-in is not trusted for a day`() async throws {
    let victim = try await bench.signIn("p")
    bench.clock.advance(by: Self.old)
    _ = try await bench.signUp(email: "thief@example.com", idToken: victim.idToken)
    let thief = try await bench.signIn(email: "thief@example.com")
    #expect(thief.reply.localID == victim.reply.localID)
    let token = try #require(thief.idToken)
    #expect(try ErrorReply(json: await bench.delete(token).body).error.code == .credentialTooOld)
    #expect(try ErrorReply(json: await bench.unlink(token).body).error.code == .credentialTooOld)
    #expect(try await bench.change(token, password: AccountsBench.otherPassword).error?.code == .credentialTooOld)
    // Its owner may take it away.
    let owner = try await bench.signIn("q")
    #expect(try await bench.unlink("password", idToken: owner.idToken).type == AccountChanged.type.text)
    #expect(try await bench.refusal(of: thief.idToken)?.code == .tokenExpired)
    _ = try await bench.signUp(email: "thief@example.com", idToken: victim.idToken)
    bench.clock.advance(by: SensitiveAct.distrust)
    let late = try #require(try await bench.signIn(email: "thief@example.com").idToken)
    #expect(try await bench.delete(late).type == AccountDeleted.type.text)
  }

  @Test func `A project may ask for a recent sign-in before a link`() async throws {
    bench.usePasswords { $0.recentLogin.linking = true }
    let user = try await bench.signIn("p")
    bench.clock.advance(by: Self.old)
    let refused = try await bench.signUp(email: AccountsBench.email, idToken: user.idToken)
    #expect(refused.error?.code == .credentialTooOld)
  }

  @Test func `A sign-up does not change the password of an account that has one, unless the sign-in is recent`()
    async throws
  {
    let user = try await bench.signUp(email: AccountsBench.email)
    bench.clock.advance(by: Self.old)
    let refused = try await bench.signUp(email: AccountsBench.email, AccountsBench.otherPassword, idToken: user.idToken)
    #expect(refused.error?.code == .credentialTooOld)
    let fresh = try await bench.signIn(email: AccountsBench.email)
    let changed = try await bench.signUp(
      email: AccountsBench.email, AccountsBench.otherPassword, idToken: fresh.idToken)
    #expect(changed.reply.localID == user.reply.localID)
    #expect(try await bench.refusal(of: user.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: AccountsBench.email).error?.code == .invalidLoginCredentials)
    // Another address is a change of address.
    let other = try await bench.signUp(email: "bo@example.com", idToken: changed.idToken)
    #expect(other.error?.code == .operationNotAllowed)
  }

  @Test func `A project without passwords makes, links and opens none`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let guest = try await bench.signUp("g")
    bench.usePasswords { $0.methods.remove(.password) }
    #expect(try await bench.signUp(email: "bo@example.com").error?.reason == "METHOD_OFF")
    #expect(try await bench.signUp(email: "bo@example.com", idToken: guest.idToken).error?.reason == "METHOD_OFF")
    for password in [AccountsBench.password, AccountsBench.otherPassword] {
      #expect(try await bench.signIn(email: AccountsBench.email, password).error?.reason == "METHOD_OFF")
    }
    // The session goes on.
    #expect(try await bench.refusal(of: bench.refresh(user.refreshToken)) == nil)
  }

  // MARK: Deletion

  @Test func `A deletion takes the hash, frees the address and has its mail forgotten`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let account = try #require(try await bench.account(of: user))
    #expect(try await bench.delete(try #require(user.idToken)).type == AccountDeleted.type.text)
    let job = try #require(bench.sink.published.first { $0.message.type == MailForgetJob.type.text })
    #expect(try MailForgetJob(json: job.message.body).addresses == [AccountsBench.email])
    #expect(try await bench.passwordHash(of: account) == nil)
    #expect(try await bench.signIn(email: AccountsBench.email).error?.code == .invalidLoginCredentials)
    let next = try await bench.signUp(email: AccountsBench.email)
    #expect(next.reply.isNewUser == true && next.reply.localID != user.reply.localID)
  }
}
