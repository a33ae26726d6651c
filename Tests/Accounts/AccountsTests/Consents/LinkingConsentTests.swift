import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Consent to linking Sign in with Apple, where the project demands it") struct LinkingConsentTests {
  private static let apple = "apple.com"
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useConsents { $0.methods.insert(.totp) }
  }

  private func apple(email: String? = nil, serial: Int = 0, idToken: Secret? = nil) async throws -> AccountsBench.Answer
  {
    var token = FakeProvider.Token("ada", email: email)
    token.serial = serial
    return try await bench.signIn(at: Self.apple, token, idToken: idToken)
  }

  private func ways(of user: AccountsBench.Answer) async throws -> [String]? {
    try await bench.account(of: user)?.ways
  }

  // MARK: Apple first

  @Test func `A number comes to Apple with a consent, and the code that was refused is not used up`() async throws {
    let user = try await apple()
    #expect(try await bench.signIn("a", idToken: user.idToken).error?.code == .consentRequired)
    #expect(try await ways(of: user) == [Self.apple])
    try await bench.consents(to: "email", "google.com", idToken: user.idToken)
    let other = try bench.command("b", session: "v-a", idToken: user.idToken)
    #expect(try await bench.signIn(other, "b").error?.code == .consentRequired)
    try await bench.consents(to: "phone", idToken: user.idToken)
    let again = try await bench.signIn(bench.command("c", session: "v-a", idToken: user.idToken), "c")
    #expect(again.error == nil && again.reply.localID == user.reply.localID)
    #expect(try await ways(of: user) == [Self.apple, "phone"])
  }

  @Test func `A temporary proof that was refused is not used up`() async throws {
    let user = try await apple()
    let holder = try await bench.signIn("a")
    let proof = try #require(try await bench.signIn("b", idToken: user.idToken).proof)
    _ = try await bench.delete(try #require(holder.idToken))
    let first = try bench.command("c", proof: proof, idToken: user.idToken)
    #expect(try await bench.signIn(first, "c").error?.code == .consentRequired)
    try await bench.consents(to: "phone", idToken: user.idToken)
    #expect(try await bench.signIn(bench.command("d", proof: proof, idToken: user.idToken), "d").error == nil)
    #expect(try await ways(of: user) == [Self.apple, "phone"])
  }

  @Test func `A password comes to Apple with a consent, by a sign-up and by an update`() async throws {
    let user = try await apple()
    #expect(try await bench.signUp(email: AccountsBench.address, idToken: user.idToken).error?.code == .consentRequired)
    let update = try await bench.change(user.idToken, email: AccountsBench.address, password: AccountsBench.password)
    #expect(update.error?.code == .consentRequired)
    let account = try #require(try await bench.account(of: user))
    #expect(account.ways == [Self.apple] && account.email == nil)
    #expect(try await bench.passwordHash(of: account) == nil)
    try await bench.consents(to: "email", idToken: user.idToken)
    #expect(try await bench.signUp(email: AccountsBench.address, idToken: user.idToken).error == nil)
    #expect(try await ways(of: user) == [Self.apple, "password"])
  }

  @Test func `An address comes to Apple by an update with a consent`() async throws {
    let user = try await apple()
    #expect(try await bench.change(user.idToken, email: AccountsBench.address).error?.code == .consentRequired)
    #expect(try await bench.account(of: user)?.email == nil)
    try await bench.consents(to: "email", idToken: user.idToken)
    #expect(try await bench.change(user.idToken, email: AccountsBench.address).error == nil)
    #expect(try await bench.account(of: user)?.email == AccountsBench.address)
  }

  @Test func `A link of a mail adds its address to Apple with a consent, and a refused one stays good`() async throws {
    let user = try await apple()
    let code = try await bench.sendLink(.signIn, to: AccountsBench.address).code
    #expect(try await bench.signIn(link: code, idToken: user.idToken).error?.code == .consentRequired)
    #expect(try await ways(of: user) == [Self.apple])
    try await bench.consents(to: "email", idToken: user.idToken)
    #expect(try await bench.signIn(link: code, idToken: user.idToken).error == nil)
    #expect(try await ways(of: user) == [Self.apple, "password"])
  }

  @Test func `Links to Apple's own address make it no other data, until they sign in`() async throws {
    let user = try await apple(email: AccountsBench.address)
    let verify = try await bench.sendLink(.verifyAddress, idToken: user.idToken).code
    #expect(try await bench.apply(verify).error == nil)
    #expect(try await bench.account(of: user)?.email == AccountsBench.address)
    #expect(try await apple(email: AccountsBench.address, serial: 1).reply.localID == user.reply.localID)
    #expect(try await bench.signInByLink().error?.code == .consentRequired)
    let reset = try await bench.sendLink(.resetPassword, to: AccountsBench.address).code
    #expect(try await bench.apply(reset, newPassword: AccountsBench.password).error == .consentRequired)
    let account = try #require(try await bench.account(of: user))
    #expect(try await bench.passwordHash(of: account) == nil && account.ways == [Self.apple])
    // It did not end the sessions either.
    #expect(try await bench.refusal(of: user.idToken) == nil)
    try await bench.consents(to: "email", idToken: user.idToken)
    #expect(try await bench.apply(reset, newPassword: AccountsBench.password).error == nil)
    #expect(try await ways(of: user) == [Self.apple, "password"])
  }

  @Test func `Another address comes to Apple by a link with a consent`() async throws {
    let user = try await apple(email: AccountsBench.address)
    let change = try await bench.sendLink(
      .changeAddress, newEmail: AccountsBench.otherAddress, idToken: user.idToken)
    let code = try #require(change.code)
    #expect(try await bench.apply(code).error == .consentRequired)
    #expect(try await bench.account(of: user)?.email == nil)
    try await bench.consents(to: "email", idToken: user.idToken)
    #expect(try await bench.apply(code).error == nil)
    #expect(try await bench.account(of: user)?.email == AccountsBench.otherAddress)
  }

  @Test func `Another provider comes to Apple with a consent, by a link and by its address`() async throws {
    let user = try await apple(email: AccountsBench.address)
    let google = FakeProvider.Token("g", email: AccountsBench.address)
    for idToken in [user.idToken, nil] {
      let refused = try await bench.signIn(at: "google.com", google, idToken: idToken)
      #expect(refused.error?.code == .consentRequired)
      let told = try await bench.signIn(at: "google.com", google, idToken: idToken) { $0.returnIDPCredential = true }
      #expect(told.reply.refusal == .consentRequired && told.reply.tokens == nil && told.pending == nil)
    }
    #expect(try await ways(of: user) == [Self.apple])
    try await bench.consents(to: "google.com", idToken: user.idToken)
    #expect(try await bench.signIn(at: "google.com", google).reply.localID == user.reply.localID)
    #expect(try await ways(of: user) == [Self.apple, "google.com"])
  }

  @Test func `A second factor is enrolled beside Apple with a consent`() async throws {
    let user = try await apple(email: AccountsBench.address)
    let enrollment = Enrollment(
      kind: .totp, project: try bench.parts.reader.project(AccountsBench.project), reader: bench.parts.reader)
    let now = bench.clock.now()
    func refusal() async throws -> APIErrorCode? {
      let account = try #require(try await bench.account(of: user))
      let session = try #require(try await bench.sessions(of: account).first)
      return enrollment.refusal(of: IDTokenCheck.Holder(account: account, session: session), arrivedAt: now)?.code
    }
    #expect(try await refusal() == .consentRequired)
    try await bench.consents(to: "secondFactor", idToken: user.idToken)
    #expect(try await refusal() == nil)
  }

  // MARK: Apple second

  @Test func `Apple comes to a number with a consent, by the pending token of the refusal`() async throws {
    let user = try await bench.signIn("a")
    let refused = try await apple(idToken: user.idToken)
    #expect(refused.reply.refusal == .consentRequired && refused.reply.tokens == nil)
    #expect(try await ways(of: user) == ["phone"])
    let early = try await bench.signIn(pending: refused.pending, idToken: user.idToken)
    #expect(early.error?.code == .consentRequired)
    try await bench.consents(to: "phone", idToken: user.idToken)
    #expect(try await bench.signIn(pending: refused.pending, idToken: user.idToken).error == nil)
    #expect(try await ways(of: user) == [Self.apple, "phone"])
  }

  @Test func `Apple joins the account of its address with a consent, and else makes none beside it`() async throws {
    let user = try await bench.signUp(email: AccountsBench.address)
    try await bench.verifyEmail(of: user)
    let refused = try await apple(email: AccountsBench.address)
    #expect(refused.reply.refusal == .consentRequired && refused.reply.tokens == nil)
    #expect(bench.events("account.created").isEmpty && bench.events("account.linked").isEmpty)
    #expect(try await ways(of: user) == ["password"])
    #expect(try await apple(email: AccountsBench.address, serial: 1).reply.refusal == .consentRequired)
    try await bench.consents(to: "email", idToken: user.idToken)
    #expect(try await bench.signIn(pending: refused.pending).reply.localID == user.reply.localID)
    #expect(try await ways(of: user) == [Self.apple, "password"])
  }

  @Test func `Apple needs a consent to everything that the account has`() async throws {
    let google = FakeProvider.Token("g", email: AccountsBench.address)
    let user = try await bench.signIn(at: "google.com", google)
    _ = try await bench.signIn("a", idToken: user.idToken)
    for (serial, data) in [["phone"], ["google.com"], []].enumerated() {
      #expect(try await bench.record([bench.consent(data)], idToken: user.idToken).type == ConsentsRecorded.type.text)
      let refused = try await apple(email: AccountsBench.address, serial: serial, idToken: user.idToken)
      #expect(refused.reply.refusal == .consentRequired && refused.reply.tokens == nil, "\(data)")
    }
    try await bench.consents(to: "phone", "google.com", idToken: user.idToken)
    #expect(try await apple(email: AccountsBench.address, serial: 9).reply.localID == user.reply.localID)
    #expect(try await ways(of: user) == ["google.com", Self.apple, "phone"])
  }

  @Test func `Apple takes over an account that never proved the address: nothing else is left to consent to`()
    async throws
  {
    let impostor = try await bench.signUp(email: AccountsBench.address)
    try await bench.consents(to: "email", "phone", idToken: impostor.idToken)
    let user = try await apple(email: AccountsBench.address)
    #expect(user.reply.localID == impostor.reply.localID && user.error == nil)
    #expect(try await ways(of: user) == [Self.apple])
    #expect(try await bench.account(of: user)?.consents == [])
    #expect(try await bench.signIn("a", idToken: user.idToken).error?.code == .consentRequired)
  }

  @Test func `An anonymous user becomes one of Apple, and others link among themselves, without a consent`()
    async throws
  {
    let user = try await bench.signUp("u")
    #expect(try await apple(idToken: user.idToken).error == nil)
    #expect(try await ways(of: user) == [Self.apple])
    let other = try await bench.signIn("a")
    #expect(try await bench.signIn(at: "google.com", FakeProvider.Token("g"), idToken: other.idToken).error == nil)
    #expect(try await ways(of: other) == ["google.com", "phone"])
  }

  // MARK: Revoked, not demanded

  @Test func `After a revocation what is linked stays, and nothing more is linked`() async throws {
    let user = try await apple()
    try await bench.consents(to: "phone", "google.com", idToken: user.idToken)
    #expect(try await bench.signIn("a", idToken: user.idToken).error == nil)
    try await bench.record(revoking: [Consent.linking], idToken: user.idToken)
    #expect(try await bench.signIn("b").reply.localID == user.reply.localID)
    #expect(try await apple(serial: 1).reply.localID == user.reply.localID)
    #expect(try await bench.refusal(of: user.idToken) == nil)
    let google = try await bench.signIn(at: "google.com", FakeProvider.Token("g"), idToken: user.idToken)
    #expect(google.error?.code == .consentRequired)
    let number = ScriptedCoordinator.Verification(number: "+16505550199")
    #expect(try await bench.signIn("c", verification: number, idToken: user.idToken).error?.code == .consentRequired)
    #expect(try await ways(of: user) == [Self.apple, "phone"])
    // A way that the account loses needs none.
    let unlinked = try await bench.unlink("phone", idToken: user.idToken)
    #expect(unlinked.type == AccountChanged.type.text)
  }

  @Test func `A project that only records consents demands none`() async throws {
    bench.useConsents(.record)
    let user = try await apple(email: AccountsBench.address)
    #expect(try await bench.signIn("a", idToken: user.idToken).error == nil)
    #expect(try await bench.signUp(email: AccountsBench.address, idToken: user.idToken).error == nil)
    #expect(
      try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: AccountsBench.address)).reply.localID
        == user.reply.localID)
    #expect(try await ways(of: user) == [Self.apple, "google.com", "phone", "password"])
  }

  @Test func `Administrators link as they like`() async throws {
    let user = try await apple()
    var fields = UserFields(localID: user.reply.localID)
    (fields.email, fields.phoneNumber) = (AccountsBench.address, AccountsBench.number)
    #expect(try code(try await bench.change(fields)) == nil)
    #expect(try await bench.account(of: user)?.phoneNumber == AccountsBench.number)
  }
}
