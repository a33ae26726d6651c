import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts
@testable import CommandEngine

@Suite("The mail about a new second factor takes it back", .timeLimit(.minutes(10)))
struct RevertSecondFactorTests {
  private static let address = AccountsBench.address
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useLinks()
  }

  /// A user whose address is proven.
  private func user() async throws -> AccountsBench.Answer {
    let user = try await bench.signUp(email: Self.address)
    try await bench.verifyEmail(of: user)
    return user
  }

  private func factor(
    _ kind: SecondFactorKind = .totp, _ id: String = "first", displayName: String? = "Work phone"
  ) -> SecondFactor {
    var factor = SecondFactor(kind, enrollmentID: id, enrolledAt: bench.clock.now())
    (factor.displayName, factor.phoneNumber) = (displayName, kind == .phone ? "+14155550123" : nil)
    return factor
  }

  /// Enrols a factor, as the end of its first code does, and gives the mails.
  private func enrol(_ factor: SecondFactor, _ user: AccountsBench.Answer) async throws -> [AccountsBench.Mail] {
    let (parts, id) = (bench.parts, bench.nextID())
    let project = try #require(parts.rules.projects.current[AccountsBench.project])
    let enrollment = Enrollment(kind: factor.kind, project: project, reader: parts.reader)
    let mail = EnrollmentMail(mailLinks: parts.mailLinks)
    let check = IDTokenCheck(token: try bench.verified(try #require(user.idToken)))
    let envelope = Envelope(type: FinishSecondFactor.type, messageID: id, userID: "gateway")
    let sent: [OutboxMessage]? = try await bench.transact { set throws(StoreError) in
      guard case .success(let holder) = try check.holder(in: set, parts.rules.sessions) else { return nil }
      _ = try enrollment.add(factor, to: holder, telling: mail, eventID: id, cause: envelope, in: &set)
      return set.changes.outgoing
    }
    return try #require(sent).filter { $0.type == MailRelayJob.type.text }.map { message in
      let job = try OutboxCodec.decode(message)
      return try bench.mail(MailRelayJob(json: job.body), id: job.messageID)
    }
  }

  private func factors(of user: AccountsBench.Answer) async throws -> [String]? {
    try await bench.account(of: user)?.secondFactors.map(\.enrollmentID)
  }

  private func refusal(ofPending credential: Secret) async throws -> APIErrorCode? {
    let tickets = bench.parts.reader.tickets
    return try await bench.look { set throws(StoreError) in
      switch try tickets.pendingSignIn(tickets.ids(of: credential), project: AccountsBench.project, in: set) {
      case .success: nil
      case .failure(let error): error.code
      }
    }
  }

  @Test func `The proven address is told of a new factor, with its masked number or its name`() async throws {
    bench.useLinks { ($0.mail.from, $0.mail.appName) = ("hello@example.com", "Example") }
    let user = try await user()
    let mails = try await enrol(factor(.phone), user) + enrol(factor(.totp, "second"), user)
    #expect(mails.map(\.job.to) == [Self.address, Self.address] && mails.map(\.appName) == ["Example", "Example"])
    #expect(mails.map(\.template) == ["second-factor-reversal", "second-factor-reversal"])
    #expect(mails.map(\.mode) == ["revertSecondFactorAddition", "revertSecondFactorAddition"])
    #expect(mails.map(\.secondFactor) == ["+*******0123", "Work phone"])
    #expect(Set(mails.map(\.code)).count == 2 && mails.first?.job.from == "hello@example.com")
    #expect(mails.allSatisfy { $0.job.deadline > bench.clock.now() })
  }

  @Test func `Nobody is told at an address that is not proven, or without a page for links`() async throws {
    let unproven = try await bench.signUp(email: Self.address)
    #expect(try await enrol(factor(), unproven).isEmpty)
    try await bench.verifyEmail(of: unproven)
    bench.useLinks { $0.authDomain = nil }
    #expect(try await enrol(factor(.totp, "second"), unproven).isEmpty)
    #expect(try await factors(of: unproven) == ["first", "second"])
  }

  @Test func `A relay address is told, unless its user has switched the relay off`() async throws {
    let relay = "x7@privaterelay.appleid.com"
    let user = try await bench.signIn(at: "apple.com", FakeProvider.Token("a", email: relay))
    #expect(try await enrol(factor(), user).map(\.job.to) == [relay])
    #expect(try await bench.note("email-disabled", "a", email: relay).effects == [.mailOff])
    #expect(try await enrol(factor(.totp, "second"), user).isEmpty)
  }

  @Test func `The link withdraws the factor and ends all sessions, once`() async throws {
    let user = try await user()
    let factor = factor(.phone)
    let code = try await enrol(factor, user).first?.code
    bench.clock.advance(by: .seconds(1))
    for _ in 0..<3 {
      let look = try await bench.apply(code, isLook: true).reply
      #expect(look?.purpose == .revertSecondFactor && look?.email == Self.address && look?.localID == nil)
      #expect(look?.secondFactor == factor.view(isMasked: true))
    }
    #expect(try await factors(of: user) == ["first"])
    #expect(try await bench.apply(code, newPassword: AccountsBench.otherPassword).error == .invalidOobCode)
    let applied = try await bench.apply(code)
    #expect(applied.reply?.localID == user.reply.localID && applied.reply?.secondFactor?.enrollmentID == "first")
    #expect(applied.reply?.secondFactor?.phoneNumber == "+*******0123" && applied.mails.isEmpty)
    let events = try bench.events("account.secondFactorWithdrawn").map {
      try SecondFactorWithdrawn(json: $0.message.body).enrollmentID
    }
    #expect(events == ["first"])
    let account = try #require(try await bench.account(of: user))
    #expect(account.secondFactors.isEmpty)
    #expect(try await bench.sessions(of: account).isEmpty)
    #expect(try await bench.refusal(of: user.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: Self.address).idToken != nil)
    #expect(try await bench.apply(code).error == .invalidOobCode)
    #expect(try await bench.apply(code, isLook: true).error == .invalidOobCode)
  }

  @Test func `Sign-ins that wait for a second factor end with it, and other factors stay`() async throws {
    let user = try await user()
    _ = try await enrol(factor(.totp, "owner"), user)
    let code = try await enrol(factor(.totp, "thief"), user).first?.code
    let waiting = try await bench.signIn(email: Self.address, id: "waiting")
    let credential = try bench.opened(
      try #require(waiting.reply.pendingCredential), AccountSignedIn.type, id: "waiting")
    #expect(try await refusal(ofPending: credential) == nil && waiting.idToken == nil)
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.apply(code).error == nil)
    #expect(try await factors(of: user) == ["owner"])
    #expect(try await refusal(ofPending: credential) == .invalidPendingCredential)
  }

  @Test func `A factor that its user has withdrawn meanwhile leaves a used link`() async throws {
    let user = try await user()
    let code = try await enrol(factor(), user).first?.code
    try await bench.change(try #require(try await bench.account(of: user))) { account, _ in
      account.secondFactors = []
    }
    #expect(try await bench.apply(code, isLook: true).error == .invalidOobCode)
    #expect(try await bench.apply(code).error == .invalidOobCode)
    #expect(try await bench.refusal(of: user.idToken) == nil)
  }

  @Test func `A thief's change of address or password does not take the way back`() async throws {
    let user = try await user()
    let code = try await enrol(factor(), user).first?.code
    let change = try await bench.sendLink(.changeAddress, newEmail: AccountsBench.otherAddress, idToken: user.idToken)
    #expect(try await bench.apply(change.code).error == nil)
    #expect(try await bench.change(user.idToken, password: AccountsBench.otherPassword).error == nil)
    bench.clock.advance(by: .seconds(29 * 86_400))
    let applied = try await bench.apply(code)
    #expect(applied.reply?.email == Self.address && applied.error == nil)
    #expect(try await factors(of: user) == [])
    #expect(try await bench.account(of: user)?.email == AccountsBench.otherAddress)
  }

  @Test func `The link is over after thirty days, and does nothing to a disabled or deleted account`() async throws {
    let user = try await user()
    let codes = try await enrol(factor(), user) + enrol(factor(.totp, "second"), user)
    let account = try #require(try await bench.account(of: user))
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await bench.apply(codes[0].code).error == .userDisabled)
    try await bench.change(account) { account, _ in account.isDisabled = false }
    #expect(try await bench.apply(codes[0].code).error == nil)
    let sessions = bench.parts.sessions
    bench.clock.advance(by: .seconds(30 * 86_400))
    #expect(try await bench.apply(codes[1].code).error == .expiredOobCode)
    bench.clock.advance(by: .seconds(-86_400))
    try await bench.transact { set throws(StoreError) in try sessions.delete(account, in: &set) }
    #expect(try await bench.apply(codes[1].code).error == .invalidOobCode)
  }

  @Test func `The old address takes the factors with it that came with the change`() async throws {
    let user = try await user()
    _ = try await enrol(factor(.totp, "owner"), user)
    bench.clock.advance(by: .seconds(1))
    let change = try await bench.sendLink(.changeAddress, newEmail: AccountsBench.otherAddress, idToken: user.idToken)
    let recover = try await bench.apply(change.code).mails.first?.code
    bench.clock.advance(by: .seconds(1))
    let told = try await enrol(factor(.totp, "thief"), user)
    #expect(told.map(\.job.to) == [AccountsBench.otherAddress])
    #expect(try await bench.apply(recover).error == nil)
    #expect(try await factors(of: user) == ["owner"])
  }

  @Test(
    arguments: [
      ("Work phone", "Work phone"), ("  Ada's  key-ring ", "Ada's key-ring"), ("ہاتھ فون", "ہاتھ فون"),
      ("https://evil.example/x?a=b", "https evil example x a b"), ("ada@evil.example", "ada evil example"),
      ("a\u{202E}b\r\nc\u{0}d\u{200B}e", "a b c d e"), ("\u{115F}\u{34F}\u{2028}", nil), ("", nil),
      ("<b>{link}</b>", "b link b"),
      (String(repeating: "x", count: 250), String(repeating: "x", count: 64)),
    ] as [(String, String?)])
  func `A name that a thief chose has words alone in the mail`(name: String, shown: String?) {
    #expect(factor(displayName: name).mailedName == shown)
    #expect(factor(displayName: nil).mailedName == nil)
  }
}
