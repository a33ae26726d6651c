import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Links are mailed", .timeLimit(.minutes(10)))
struct SendMailLinkTests {
  private static let address = AccountsBench.address
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useLinks()
  }

  private func page(_ sent: AccountsBench.Sent) -> String? {
    sent.mails.first.map { String($0.link.prefix { $0 != "?" }) }
  }

  @Test func `A mail has the link of its purpose, language and project`() async throws {
    bench.useLinks { ($0.mail.from, $0.mail.appName) = ("hello@example.com", "Example") }
    let sent = try await bench.sendLink(.signIn, to: "Ada@Example.com") {
      ($0.languageCode, $0.continueURL) = ("pt-AO", "https://app.example.com/a?b=c&d=e")
    }
    let mail = try #require(sent.mails.first)
    #expect(sent.email == "Ada@Example.com" && sent.mails.count == 1 && mail.job.to == "Ada@Example.com")
    #expect(mail.template == "sign-in-link" && mail.languageCode == "pt-AO" && mail.appName == "Example")
    #expect(mail.job.from == "hello@example.com" && mail.job.unsubscribeURL == nil)
    #expect(page(sent) == "https://example.firebaseapp.com/__/auth/action")
    #expect(mail.mode == "signIn" && mail.value("apiKey") == "fake-api-key" && mail.value("lang") == "pt-AO")
    #expect(mail.value("continueUrl") == "https%3A%2F%2Fapp.example.com%2Fa%3Fb%3Dc%26d%3De")
    #expect(mail.job.deadline > bench.clock.now() && mail.job.deadline < bench.clock.now() + .seconds(6 * 3600))
    let (body, code) = (String(decoding: try mail.job.written(), as: UTF8.self), try #require(mail.code))
    #expect(!body.contains(code))
  }

  @Test func `Each kind of link has its mode and template`() async throws {
    let user = try await bench.signUp(email: Self.address)
    let sent: [AccountsBench.Sent] = [
      try await bench.sendLink(.resetPassword, to: Self.address),
      try await bench.sendLink(.verifyAddress, idToken: user.idToken),
      try await bench.sendLink(.changeAddress, newEmail: AccountsBench.otherAddress, idToken: user.idToken),
    ]
    #expect(sent.map(\.mails.first?.mode) == ["resetPassword", "verifyEmail", "verifyAndChangeEmail"])
    #expect(sent.map(\.mails.first?.template) == ["password-reset", "address-verification", "address-change"])
    #expect(sent.map(\.mails.first?.job.to) == [Self.address, Self.address, AccountsBench.otherAddress])
    #expect(Set(sent.map(\.mails.first?.id)).count == 3)
  }

  @Test func `An app that opens links itself gets the code in its page's own query, first`() async throws {
    let sent = try await bench.sendLink(.signIn, to: Self.address) {
      ($0.opensInApp, $0.continueURL) = (true, "https://app.example.com/go?oobCode=mine&x=1#top")
    }
    #expect(page(sent) == "https://app.example.com/go")
    #expect(try await bench.signIn(link: sent.code).error == nil)
    #expect(sent.mails.first?.value("x") == "1" && sent.mails.first?.link.hasSuffix("#top") == true)
    let without = try await bench.sendLink(.signIn, to: Self.address) { $0.opensInApp = true }
    #expect(without.error?.code == .invalidContinueURI)
  }

  @Test(
    arguments: [
      "javascript:alert(1)", "http://app.example.com/", "//app.example.com/", "app.example.com", "https://",
      "https://user@app.example.com/", "https://app.example.com\\@evil.example/", "https://app.example.com/\u{0}",
      "https://app.example.com/ a", "https://app.example.com/<", "https://app.example.com/é",
      "https://app.example.com/" + String(repeating: "a", count: 800),
    ])
  func `A hostile page to go on to is refused`(page: String) async throws {
    let sent = try await bench.sendLink(.signIn, to: Self.address) { $0.continueURL = page }
    #expect(sent.error?.code == .invalidContinueURI && sent.mails.isEmpty)
  }

  @Test func `Pages and hosts of others are refused, and this machine is one of the project's`() async throws {
    for page in [
      "https://evil.example/", "https://app.example.com.evil.example/", "https://evil.app.example.com/",
      "https://example.com/", "https://app.example.com:80@evil.example/",
    ] {
      let sent = try await bench.sendLink(.signIn, to: Self.address) { $0.continueURL = page }
      let code = try #require(sent.error?.code)
      #expect([APIErrorCode.unauthorizedDomain, .invalidContinueURI].contains(code), "\(page)")
    }
    let domain = try await bench.sendLink(.signIn, to: Self.address) { $0.linkDomain = "evil.example" }
    #expect(domain.error?.code == .unauthorizedDomain)
    let own = try await bench.sendLink(.signIn, to: Self.address) { $0.linkDomain = "app.example.com" }
    #expect(page(own) == "https://app.example.com/__/auth/action")
    let local = try await bench.sendLink(.signIn, to: Self.address) { $0.continueURL = "http://localhost:5000/a" }
    #expect(local.error == nil)
    let app = try await bench.sendLink(.signIn, to: Self.address) { $0.bundleID = "com.example.foreign" }
    #expect(app.error != nil)
  }

  @Test func `A project without a page for links says so`() async throws {
    bench.useLinks { $0.authDomain = nil }
    let refused = try await bench.sendLink(.signIn, to: Self.address)
    #expect(refused.error?.reason == "NO_ACTION_PAGE")
    bench.useLinks { ($0.authDomain, $0.mail.actionURL) = (nil, "http://127.0.0.1:9099/__/auth/action") }
    #expect(page(try await bench.sendLink(.signIn, to: Self.address)) == "http://127.0.0.1:9099/__/auth/action")
  }

  @Test func `Nobody learns by a reset that an address is unknown, unless the project tells`() async throws {
    let protected = try await bench.sendLink(.resetPassword, to: Self.address)
    #expect(protected.email == Self.address && protected.mails.isEmpty)
    bench.useLinks { $0.protectsAddresses = false }
    #expect(try await bench.sendLink(.resetPassword, to: Self.address).error?.code == .emailNotFound)
  }

  @Test func `Nobody learns by a change that an address is taken, unless the project tells`() async throws {
    _ = try await bench.signUp(email: Self.address)
    let user = try await bench.signUp(email: AccountsBench.otherAddress)
    let protected = try await bench.sendLink(.changeAddress, newEmail: Self.address, idToken: user.idToken)
    #expect(protected.email == Self.address && protected.mails.isEmpty)
    bench.useLinks { $0.protectsAddresses = false }
    let told = try await bench.sendLink(.changeAddress, newEmail: Self.address, idToken: user.idToken)
    #expect(told.error?.code == .emailExists)
  }

  @Test func `What is missing is named`() async throws {
    let user = try await bench.signUp(email: Self.address)
    let anonymous = try await bench.signUp("guest")
    #expect(try await bench.sendLink(.signIn).error?.code == .missingEmail)
    #expect(try await bench.sendLink(.resetPassword, to: "ada").error?.code == .invalidEmail)
    #expect(try await bench.sendLink(.verifyAddress, to: Self.address).error?.code == .missingIDToken)
    #expect(try await bench.sendLink(.verifyAddress, idToken: anonymous.idToken).error?.code == .missingEmail)
    #expect(try await bench.sendLink(.changeAddress, idToken: user.idToken).error?.code == .missingNewEmail)
    for purpose in [MailLinkPurpose.recoverAddress, .revertSecondFactor] {
      #expect(try await bench.sendLink(purpose, to: Self.address).error?.code == .invalidArgument)
    }
    #expect(try await bench.sendLink(.verifyAddress, idToken: Secret("x")).error?.code == .invalidIDToken)
  }

  @Test func `A change needs a recent sign-in`() async throws {
    let user = try await bench.signUp(email: Self.address)
    bench.clock.advance(by: .seconds(301))
    let late = try await bench.sendLink(.changeAddress, newEmail: AccountsBench.otherAddress, idToken: user.idToken)
    #expect(late.error?.code == .credentialTooOld && late.mails.isEmpty)
  }

  @Test func `An address gets five mails an hour, whether an account has it or not`() async throws {
    for index in 0..<5 {
      #expect(try await bench.sendLink(.resetPassword, to: Self.address, ip: "192.0.\(index).1").error == nil)
    }
    let refused = try await bench.sendLink(.resetPassword, to: "ADA@example.com", ip: "198.51.100.1")
    #expect(refused.error?.code == .tooManyAttempts && refused.error?.reason == "MAIL_LIMIT")
    #expect((1...3660).contains(refused.error?.retryAfter ?? 0) && refused.mails.isEmpty)
    #expect(try await bench.sendLink(.resetPassword, to: AccountsBench.otherAddress).error == nil)
    bench.clock.advance(by: .seconds(3660))
    #expect(try await bench.sendLink(.resetPassword, to: Self.address).error == nil)
  }

  @Test func `A network gets fifty mails an hour`() async throws {
    for index in 0..<50 {
      let sent = try await bench.sendLink(.signIn, to: "u\(index)@example.com", ip: "192.0.2.\(index)")
      #expect(sent.mails.count == 1)
    }
    #expect(try await bench.sendLink(.signIn, to: "v@example.com", ip: "192.0.2.99").error?.code == .tooManyAttempts)
    #expect(try await bench.sendLink(.signIn, to: "v@example.com", ip: "192.0.3.1").error == nil)
  }

  @Test func `The same message mails once, under an ID that names nobody`() async throws {
    let first = try await bench.sendLink(.signIn, to: Self.address, id: "m")
    #expect(first.mails.count == 1)
    let again = try await bench.sendLink(.signIn, to: Self.address, id: "m")
    #expect(again.email == Self.address && again.mails.isEmpty)
    // A hash alone, which has nothing of the address or the message's ID.
    let id = try #require(first.mails.first?.id)
    #expect(id.count == 64 && id.allSatisfy(\.isHexDigit))
  }

  @Test func `Administrators get the link, and others do not`() async throws {
    #expect(
      try await bench.sendLink(.signIn, to: Self.address) { $0.returnsLink = true }.error?.code == .invalidAccessToken)
    let bench = try await AccountsBench { $0.isDevelopment = true }
    bench.useLinks()
    _ = try await bench.signUp(email: Self.address)
    func link(_ purpose: MailLinkPurpose, _ email: String, id: String) async throws -> AccountsBench.Sent {
      try await bench.sendLink(purpose, to: email, id: id) {
        $0.bearer = try bench.sealBound(Secret("owner"), SendMailLink.self, id)
        $0.returnsLink = true
      }
    }
    let given = try await link(.resetPassword, Self.address, id: "a")
    let returned = try #require(given.link)
    #expect(given.mails.isEmpty && returned.url.contains(returned.code))
    #expect(try await link(.resetPassword, Self.address, id: "a").link == returned)
    #expect(try await bench.apply(returned.code, newPassword: AccountsBench.otherPassword).error == nil)
    #expect(try await link(.resetPassword, AccountsBench.otherAddress, id: "b").error?.code == .emailNotFound)
    #expect(try await link(.verifyAddress, Self.address, id: "c").link != nil)
  }
}
