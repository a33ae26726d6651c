import CommandEngine
import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Authenticators as second factors", .timeLimit(.minutes(10)))
struct TOTPFlowTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useTOTP()
  }

  private func firebase(_ token: Secret?) throws -> [String: JSONValue] {
    let parts = try #require(token).reveal().split(separator: ".")
    let json = try #require(Base64URL.decode(String(parts[1])))
    let claims = try JSONReader(maxBytes: 65_536).value(of: json).members
    return try #require(claims?["firebase"]?.members)
  }

  private func error(_ command: some Command, _ id: String) async throws -> APIErrorCode? {
    let reply = try await bench.ask(command, id: id)
    return reply.type == ErrorReply.type.text ? try ErrorReply(json: reply.body).error.code : nil
  }

  private func startError(_ idToken: Secret?) async throws -> APIErrorCode? {
    try await error(bench.startingTOTP(idToken, id: "start"), "start")
  }

  // MARK: Enrolment

  @Test func `The first code enrols the factor, and the session says so from then on`() async throws {
    let other = try await bench.provenUser()
    let user = try await bench.signIn(email: AccountsBench.email)
    let authenticator = try await bench.startTOTP(user.idToken)
    #expect(authenticator.shared.key.utf8.count == 32 && authenticator.totp.secret.count == TOTP.secretLength)
    #expect(authenticator.shared.codeLength == 6 && authenticator.shared.period == 30)
    #expect(authenticator.shared.expiresAt == bench.clock.now() + .seconds(600))
    let answer = try await bench.enroll(authenticator, user.idToken) { $0.displayName = "phone at home" }
    #expect(answer.error == nil && answer.reply.isNewUser == false)
    let event = try #require(bench.events("account.secondFactorEnrolled").first)
    let factor = try #require(try await bench.account(of: answer)?.secondFactors.first)
    #expect(factor.kind == .totp && factor.displayName == "phone at home" && factor.lastStep != nil)
    #expect(try SecondFactorEnrolled(json: event.message.body).enrollmentID == factor.enrollmentID)
    let claims = try firebase(answer.idToken)
    #expect(claims["sign_in_second_factor"] == "totp")
    #expect(claims["second_factor_identifier"]?.text == factor.enrollmentID)
    #expect(claims["sign_in_provider"] == "password")
    #expect(try firebase(try await bench.refresh(answer.refreshToken)) == claims)
    // The other session began without it.
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    let shown = try await bench.lookUp(try #require(answer.idToken)).get().secondFactors
    #expect(shown?.map(\.kind) == [.totp] && shown?.first?.phoneNumber == nil)
  }

  @Test func `The same start gives the same secret while its ticket lives, and no note has it`() async throws {
    let user = try await bench.provenUser()
    let first = try await bench.startTOTP(user.idToken, id: "start")
    let again = try await bench.startTOTP(user.idToken, id: "start")
    #expect(first.shared == again.shared)
    #expect(try await bench.startTOTP(user.idToken).shared.key != first.shared.key)
    #expect(try await bench.enroll(first, user.idToken).error == nil)
    #expect(try await startError(user.idToken) == .invalidSessionInfo)
  }

  @Test func `A secret counts for ten minutes, once, for its account, and for five wrong codes`() async throws {
    let user = try await bench.provenUser()
    let other = try await bench.provenUser("bob@example.com")
    let authenticator = try await bench.startTOTP(user.idToken)
    #expect(try await bench.enroll(authenticator, other.idToken).error?.code == .invalidSessionInfo)
    let wrong = try authenticator.wrongCode(at: bench.clock.now())
    // The same message counts once.
    for _ in 0..<2 {
      #expect(try await bench.enroll(authenticator, user.idToken, code: wrong, id: "w").error?.attemptsLeft == 4)
    }
    for left in [3, 2, 1, 0] {
      let error = try await bench.enroll(authenticator, user.idToken, code: "12345").error
      #expect(error?.code == .invalidCode && error?.attemptsLeft == left)
    }
    #expect(try await bench.enroll(authenticator, user.idToken).error?.code == .invalidSessionInfo)
    let late = try await bench.startTOTP(user.idToken)
    bench.clock.advance(by: .seconds(290))
    let renewed = try await bench.signIn(email: AccountsBench.email)
    bench.clock.advance(by: .seconds(290))
    let used = try await bench.startTOTP(renewed.idToken)
    bench.clock.advance(by: .seconds(20))
    let last = try await bench.signIn(email: AccountsBench.email)
    #expect(try await bench.enroll(late, last.idToken).error?.code == .invalidSessionInfo)
    #expect(try await bench.enroll(used, last.idToken).error == nil)
    #expect(try await bench.enroll(used, last.idToken).error?.code == .invalidSessionInfo)
  }

  @Test func `Users enrol who signed in lately, by what goes with it, with a proven address and room`() async throws {
    let anonymous = try await bench.signUp("anonymous")
    #expect(try await startError(anonymous.idToken) == .unsupportedFirstFactor)
    let unproven = try await bench.signUp(email: "eve@example.com")
    #expect(try await error(bench.startingTOTP(unproven.idToken, id: "e"), "e") == .unverifiedEmail)
    #expect(try await error(bench.startingTOTP(nil, id: "n"), "n") == .missingPendingCredential)
    var pending = try bench.startingTOTP(nil, id: "p")
    pending.pendingCredential = try bench.sealBound(Secret("any"), StartSecondFactor.self, "p")
    #expect(try await bench.error(pending, id: "p").reason == "NO_START")
    let user = try await bench.provenUser()
    let token = try #require(user.idToken)
    let authenticator = try await bench.startTOTP(token)
    #expect(try await error(bench.finishingTOTP("123456", id: "a", idToken: token), "a") == .missingSessionInfo)
    #expect(
      try await error(bench.finishingTOTP(nil, id: "b", idToken: token, session: "x"), "b") == .missingCode)
    let long = try await bench.enroll(authenticator, token) { $0.displayName = String(repeating: "n", count: 257) }
    #expect(long.error?.field == "displayName")
    bench.clock.advance(by: .seconds(301))
    #expect(try await bench.enroll(authenticator, token).error?.code == .credentialTooOld)
    #expect(try await error(bench.startingTOTP(token, id: "o"), "o") == .credentialTooOld)
    let last = try await bench.signIn(email: AccountsBench.email)
    for number in 1...SecondFactor.most {
      let next = try await bench.startTOTP(last.idToken)
      #expect(try await bench.enroll(next, last.idToken).error == nil, "\(number)")
    }
    #expect(try await error(bench.startingTOTP(last.idToken, id: "f"), "f") == .secondFactorLimitExceeded)
  }

  // MARK: Signing in

  @Test func `A first factor and a code begin a session, which names the factor through refreshes and cookies`()
    async throws
  {
    let enrolled = try await bench.enrolledUser()
    let answer = try await bench.signIn(enrolled)
    #expect(answer.error == nil && answer.reply.localID == enrolled.user.reply.localID)
    let event = try #require(bench.events("account.signIn").first)
    #expect(try AccountSignIn(json: event.message.body).secondFactor == .totp)
    let claims = try firebase(answer.idToken)
    #expect(claims["sign_in_second_factor"] == "totp" && claims["second_factor_identifier"]?.text == enrolled.id)
    bench.clock.advance(by: .seconds(7_200))
    let refreshed = try await bench.refresh(answer.refreshToken)
    #expect(try firebase(refreshed) == claims)
    let id = bench.nextID()
    let reply = try await bench.cookie(refreshed, by: .token(try await bench.access([.tokens])), id: id)
    let cookie = try SessionCookieCreated(json: reply.body).cookie
    #expect(try firebase(bench.opened(cookie, SessionCookieCreated.type, id: id)) == claims)
  }

  @Test func `A code counts once`() async throws {
    let enrolled = try await bench.enrolledUser()
    let code = enrolled.authenticator.code(at: bench.clock.now())
    let pending = [try await bench.pendingCredential(), try await bench.pendingCredential()]
    #expect(try await bench.signIn(pending: pending[0], factor: enrolled.id, code: code, id: "a").error == nil)
    // The same message is answered alike, another one is not.
    #expect(try await bench.signIn(pending: pending[0], factor: enrolled.id, code: code, id: "a").error == nil)
    #expect(
      try await bench.signIn(pending: pending[0], factor: enrolled.id, code: code).error?.code
        == .invalidPendingCredential)
    let again = try await bench.signIn(pending: pending[1], factor: enrolled.id, code: code)
    #expect(again.error?.code == .invalidCode && again.error?.attemptsLeft == 4)
    bench.clock.advance(by: .seconds(30))
    let next = enrolled.authenticator.code(at: bench.clock.now())
    #expect(try await bench.signIn(pending: pending[1], factor: enrolled.id, code: next).error == nil)
  }

  @Test func `The code of the enrolment signs nobody in`() async throws {
    let user = try await bench.provenUser()
    let authenticator = try await bench.startTOTP(user.idToken)
    let code = authenticator.code(at: bench.clock.now())
    let answer = try await bench.enroll(authenticator, user.idToken, code: code)
    let id = try #require(try await bench.account(of: answer)?.secondFactors.first?.enrollmentID)
    let pending = try await bench.pendingCredential()
    #expect(try await bench.signIn(pending: pending, factor: id, code: code).error?.code == .invalidCode)
  }

  @Test func `Of two sign-ins with one code at once, one begins a session`() async throws {
    let enrolled = try await bench.enrolledUser()
    let code = enrolled.authenticator.code(at: bench.clock.now())
    var messages: [Message] = []
    for id in ["a", "b"] {
      let command = try bench.finishingTOTP(
        code, id: id, pending: try await bench.pendingCredential(), enrollmentID: enrolled.id)
      messages.append(try bench.message(command, id: id))
    }
    await bench.deliver(batch: messages)
    #expect(Set(bench.replies.map(\.type)) == [AccountSignedIn.type.text, ErrorReply.type.text])
    #expect(bench.events("account.signIn").count == 1)
  }

  @Test func `Two sign-ins with one pending credential begin one session`() async throws {
    let enrolled = try await bench.enrolledUser()
    let pending = try await bench.pendingCredential()
    let codes = (Int64(0)...1).map { enrolled.authenticator.code(at: bench.clock.now(), steps: $0) }
    var messages: [Message] = []
    for (id, code) in zip(["a", "b"], codes) {
      let command = try bench.finishingTOTP(code, id: id, pending: pending, enrollmentID: enrolled.id)
      messages.append(try bench.message(command, id: id))
    }
    await bench.deliver(batch: messages)
    #expect(Set(bench.replies.map(\.type)) == [AccountSignedIn.type.text, ErrorReply.type.text])
    #expect(bench.events("account.signIn").count == 1)
  }

  @Test func `Five wrong codes end a pending credential, and a repeated message is one of them`() async throws {
    let enrolled = try await bench.enrolledUser()
    let pending = try await bench.pendingCredential()
    let (now, authenticator) = (bench.clock.now(), enrolled.authenticator)
    for _ in 0..<2 {
      let answer = try await bench.signIn(
        pending: pending, factor: enrolled.id, code: authenticator.wrongCode(at: now), id: "w")
      #expect(answer.error?.code == .invalidCode && answer.error?.attemptsLeft == 4)
    }
    for (code, left) in [("12345", 3), ("１２３４５６", 2), ("abcdef", 1), ("0000000", 0)] {
      let error = try await bench.signIn(pending: pending, factor: enrolled.id, code: code).error
      #expect(error?.code == .invalidCode && error?.attemptsLeft == left)
    }
    let late = try await bench.signIn(pending: pending, factor: enrolled.id, code: authenticator.code(at: now))
    #expect(late.error?.code == .invalidPendingCredential)
    // Another one is good.
    #expect(try await bench.signIn(enrolled).error == nil)
  }

  @Test func `Ten wrong codes within an hour lock the factor for an hour, and no other one`() async throws {
    let enrolled = try await bench.enrolledUser()
    let user = try await bench.signIn(enrolled)
    let second = try await bench.startTOTP(user.idToken)
    #expect(try await bench.enroll(second, user.idToken).error == nil)
    let other = try #require(try await bench.account(of: user)?.secondFactors.last?.enrollmentID)
    bench.clock.advance(by: .seconds(60))
    for _ in 0..<2 {
      let pending = try await bench.pendingCredential()
      for _ in 0..<5 {
        let error = try await bench.signIn(pending: pending, factor: enrolled.id, code: "x").error
        #expect(error?.code == .invalidCode)
      }
      bench.clock.advance(by: .seconds(1_500))
    }
    func refusal() async throws -> APIError? { try await bench.signIn(enrolled).error }
    let locked = try #require(try await refusal())
    #expect(locked.code == .tooManyAttempts && locked.reason == "WRONG_CODES" && locked.field == nil)
    #expect((2_100...2_160).contains(try #require(locked.retryAfter)))
    let pending = try await bench.pendingCredential()
    let code = second.code(at: bench.clock.now())
    #expect(try await bench.signIn(pending: pending, factor: other, code: code).error == nil)
    // The earlier ones are more than an hour old, and it stays locked.
    bench.clock.advance(by: .seconds(2_040))
    #expect(try await refusal()?.code == .tooManyAttempts)
    bench.clock.advance(by: .seconds(120))
    #expect(try await refusal() == nil)
  }

  @Test func `A sign-in names a factor of the account, and has a pending credential that is good`() async throws {
    let enrolled = try await bench.enrolledUser()
    let pending = try await bench.pendingCredential()
    let code = enrolled.authenticator.code(at: bench.clock.now())
    #expect(try await bench.signIn(pending: pending, factor: nil, code: code).error?.code == .missingEnrollmentID)
    #expect(try await bench.signIn(pending: pending, factor: "x", code: code).error?.code == .enrollmentNotFound)
    #expect(try await bench.signIn(pending: pending, factor: enrolled.id, code: "").error?.code == .missingCode)
    #expect(
      try await bench.signIn(pending: Secret("x"), factor: enrolled.id, code: code).error?.code
        == .invalidPendingCredential)
    #expect(
      try await bench.signIn(pending: nil, factor: enrolled.id, code: code).error?.code == .missingPendingCredential)
    bench.clock.advance(by: PendingSignIn.lifetime)
    let late = enrolled.authenticator.code(at: bench.clock.now())
    #expect(
      try await bench.signIn(pending: pending, factor: enrolled.id, code: late).error?.code
        == .invalidPendingCredential)
  }

  @Test func `With the method off nobody enrols, and no code signs in, but no first factor suffices either`()
    async throws
  {
    let enrolled = try await bench.enrolledUser()
    let user = try await bench.signIn(enrolled)
    let authenticator = try await bench.startTOTP(user.idToken)
    bench.useTOTP { $0.methods.remove(.totp) }
    #expect(try await startError(user.idToken) == .operationNotAllowed)
    #expect(try await bench.enroll(authenticator, user.idToken).error?.code == .operationNotAllowed)
    bench.clock.advance(by: .seconds(60))
    #expect(try await bench.signIn(enrolled).error?.code == .operationNotAllowed)
    #expect(try await bench.withdraw(enrolled.id, user.idToken).error == nil)
  }

  // MARK: Withdrawal

  @Test func `A factor that is withdrawn is asked for no more, and its sessions end but the caller's`() async throws {
    let enrolled = try await bench.enrolledUser()
    let pending = try await bench.pendingCredential()
    let user = try await bench.signIn(enrolled)
    #expect(try await bench.withdraw("x", user.idToken).error?.code == .enrollmentNotFound)
    let answer = try await bench.withdraw(enrolled.id, user.idToken, id: "w")
    #expect(bench.events("account.secondFactorWithdrawn").count == 1)
    #expect(try firebase(answer.idToken)["sign_in_second_factor"] == nil)
    #expect(try firebase(answer.idToken)["second_factor_identifier"] == nil)
    #expect(answer.refreshToken?.reveal() == user.refreshToken?.reveal())
    #expect(try firebase(try await bench.refresh(user.refreshToken))["sign_in_second_factor"] == nil)
    #expect(try await bench.refusal(of: enrolled.user.idToken)?.code == .tokenExpired)
    #expect(try await bench.withdraw(enrolled.id, user.idToken, id: "w").error == nil)
    bench.clock.advance(by: .seconds(30))
    let code = enrolled.authenticator.code(at: bench.clock.now())
    #expect(
      try await bench.signIn(pending: pending, factor: enrolled.id, code: code).error?.code == .enrollmentNotFound)
    #expect(try await bench.signIn(email: AccountsBench.email).idToken != nil)
    #expect(try await bench.account(of: user)?.secondFactors == [])
  }

  @Test func `A withdrawal needs a recent sign-in, and leaves the other factors and their sessions`() async throws {
    let enrolled = try await bench.enrolledUser()
    let second = try await bench.startTOTP(enrolled.user.idToken)
    let user = try await bench.enroll(second, enrolled.user.idToken)
    let other = try #require(try await bench.account(of: user)?.secondFactors.last?.enrollmentID)
    let answer = try await bench.withdraw(enrolled.id, user.idToken)
    #expect(try firebase(answer.idToken)["second_factor_identifier"]?.text == other)
    #expect(try await bench.signIn(email: AccountsBench.email).reply.secondFactors?.map(\.enrollmentID) == [other])
    bench.clock.advance(by: .seconds(301))
    #expect(try await bench.withdraw(other, answer.idToken).error?.code == .credentialTooOld)
  }

  @Test func `A mailbox alone takes no factor from an account, though its address was not proven`() async throws {
    let enrolled = try await bench.enrolledUser()
    let account = try #require(try await bench.account(of: enrolled.user))
    try await bench.change(account) { account, _ in account.isEmailVerified = false }
    let link = try await bench.signInByLink(AccountsBench.email)
    #expect(link.idToken == nil && link.reply.secondFactors?.map(\.enrollmentID) == [enrolled.id])
    #expect(try await bench.find(account)?.secondFactors == account.secondFactors)
    #expect(try await bench.find(account)?.hasPassword == true)
  }

  @Test func `Deletion erases the factors`() async throws {
    let enrolled = try await bench.enrolledUser()
    let account = try #require(try await bench.account(of: enrolled.user))
    _ = try await bench.delete(try #require(enrolled.user.idToken))
    #expect(try await bench.find(account) == nil)
  }

  @Test func `An account with a factor takes no address that is not proven`() async throws {
    let enrolled = try await bench.enrolledUser()
    let changed = try await bench.change(enrolled.user.idToken, email: "other@example.org")
    #expect(changed.error?.reason == "VERIFY_NEW_EMAIL")
    #expect(try await bench.account(of: enrolled.user)?.email == AccountsBench.email)
  }

  @Test func `A way to sign in comes to an account with a factor by a recent sign-in alone`() async throws {
    let enrolled = try await bench.enrolledUser()
    bench.clock.advance(by: .seconds(301))
    #expect(try await bench.signIn("a", idToken: enrolled.user.idToken).error?.code == .credentialTooOld)
  }

  @Test func `Many secrets are not made within an hour`() async throws {
    let user = try await bench.provenUser()
    for _ in 0..<10 { _ = try await bench.startTOTP(user.idToken) }
    let id = bench.nextID()
    let reply = try await bench.ask(try bench.startingTOTP(user.idToken, id: id), id: id)
    #expect(try ErrorReply(json: reply.body).error.code == .tooManyAttempts)
  }
}
