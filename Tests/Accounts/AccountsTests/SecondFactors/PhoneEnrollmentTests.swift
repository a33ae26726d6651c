import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Enrolling a phone as second factor", .timeLimit(.minutes(10)))
struct PhoneEnrollmentTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useFactors()
  }

  @Test func `A user enrols a number: the session says so, and the others end`() async throws {
    let user = try await bench.makeUser()
    let other = try await bench.signIn(email: AccountsBench.email)
    let started = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber) {
      $0.languageCode = "de"
    }
    let verification = try #require(started.verification)
    #expect(verification.phoneNumber == AccountsBench.factorNumber)
    #expect(verification.purpose == .secondFactorEnrollment)
    let sent = try #require(bench.coordinator.starts.first?.command)
    let account = try #require(try await bench.account(of: user))
    #expect(sent.subject == account.id.text && sent.languageCode == "de" && sent.app == AccountsBench.app)
    let enrolled = try await bench.finish(.user(user.idToken), session: verification.verificationID) {
      $0.displayName = "Work phone"
    }
    let event = try #require(bench.events("account.secondFactorEnrolled").first)
    #expect(enrolled.claims?.sessionID == user.claims?.sessionID)
    let factor = try #require(try await bench.factors(of: user).first)
    #expect(factor.displayName == "Work phone" && factor.phoneNumber == AccountsBench.factorNumber)
    #expect(factor.enrolledAt == bench.clock.now() && !factor.isNumberFictional)
    #expect(try SecondFactorEnrolled(json: event.message.body).enrollmentID == factor.enrollmentID)
    let sessions = try await bench.sessions(of: account)
    #expect(sessions.map(\.id.text) == [user.claims?.sessionID])
    #expect(sessions.first?.secondFactor == .phone && sessions.first?.enrollmentID == factor.enrollmentID)
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
  }

  @Test func `The proof goes on to the coordinator, sealed anew`() async throws {
    let user = try await bench.makeUser()
    let key = bench.replyKey.publicKey.jwk
    for isToken in [true, false] {
      let started = try await bench.start(
        .user(user.idToken), number: "+1650555018\(isToken ? 1 : 2)", id: "\(isToken)"
      ) {
        let secret = try bench.sealFactor(Secret("secret"), StartSecondFactor.self, "\(isToken)", key)
        $0.proof =
          isToken ? .init(recaptchaToken: secret, action: "mfaSmsEnrollment") : .init(receipt: "r", secret: secret)
        $0.fictionalOnly = true
      }
      #expect(started.error == nil)
      let sent = try #require(bench.coordinator.starts.last)
      #expect((isToken ? sent.token : sent.secret)?.reveal() == "secret")
      #expect(sent.command.proof?.recaptchaAction == (isToken ? "mfaSmsEnrollment" : nil))
      #expect(sent.command.proof?.receipt == (isToken ? nil : "r") && sent.command.fictionalOnly == true)
    }
  }

  @Test func `What cannot be enrolled is refused before a code is sent`() async throws {
    func refusal(_ user: AccountsBench.Answer, _ number: String? = AccountsBench.factorNumber) async throws -> APIError?
    {
      let started = try await bench.start(.user(user.idToken), number: number)
      #expect(bench.checks.isEmpty)
      return started.error
    }
    let anonymous = try await bench.signUp("anonymous")
    #expect(try await refusal(anonymous) == .unsupportedFirstFactor)
    let phone = try await bench.signIn("p")
    #expect(try await refusal(phone) == .unsupportedFirstFactor)
    let unverified = try await bench.signUp(email: "new@example.com")
    #expect(try await refusal(unverified) == .unverifiedEmail)
    let user = try await bench.makeUser()
    #expect(try await refusal(user, nil)?.code == .missingPhoneNumber)
    for number in ["6505550177", "+1 650", "+0123456789", "+16505550177x"] {
      #expect(try await refusal(user, number)?.code == .invalidPhoneNumber)
    }
    let account = try #require(try await bench.account(of: user))
    try await bench.change(account) { account, _ in account.phoneNumber = "+16505550144" }
    #expect(try await refusal(user, "+16505550144") == .numberOfBothFactors)
    let enrolled = try await bench.enroll(user)
    #expect(try await refusal(enrolled) == .secondFactorExists)
    bench.usePasswords()
    #expect(try await refusal(enrolled, "+16505550166")?.reason == "METHOD_OFF")
    bench.useFactors()
    bench.clock.advance(by: .seconds(301))
    #expect(try await refusal(enrolled, "+16505550166") == .credentialTooOld)
    let bare = try await bench.start(.user(nil), number: AccountsBench.factorNumber)
    #expect(bare.error == .missingPendingCredential)
    let appless = try await bench.start(.user(enrolled.idToken), number: AccountsBench.factorNumber) { $0.app = nil }
    #expect(appless.error?.code == .missingClientIdentifier)
  }

  @Test func `The sign-in has to be recent when the code arrives, and no code is used otherwise`() async throws {
    let user = try await bench.makeUser()
    let session = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).verification
    bench.clock.advance(by: .seconds(295))
    let message = try bench.message(
      bench.finishing(.user(user.idToken), "late", session: session?.verificationID), id: "late")
    #expect(await bench.send(message) == nil)
    let check = try #require(bench.checks.first)
    // The time that passes while the coordinator is asked does not count.
    bench.clock.advance(by: .seconds(10))
    await bench.report(try bench.coordinator.answer(check, at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "late").error == nil)
    let second = try await bench.finish(.user(user.idToken), session: session?.verificationID)
    #expect(second.error == .credentialTooOld && bench.coordinator.compared == 1)
  }

  @Test func `A code is for its purpose, account and app`() async throws {
    let user = try await bench.makeUser()
    let session = try #require(
      try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).verification?.verificationID)
    let other = try await bench.makeUser(email: "other@example.com")
    let stolen = try await bench.finish(.user(other.idToken), session: session)
    #expect(stolen.error?.code == .invalidSessionInfo && stolen.error?.field == "sessionInfo")
    let elsewhere = try await bench.finish(.user(user.idToken), session: session) { $0.app = "com.example.other" }
    #expect(elsewhere.error?.code == .invalidSessionInfo)
    let signIn = try await bench.signIn(bench.command("in", session: session), "in")
    #expect(signIn.error?.code == .invalidSessionInfo)
    // A code that was sent to sign in enrols nothing.
    let swapped = try await bench.finish(.user(user.idToken), session: "v1")
    #expect(swapped.error?.code == .invalidSessionInfo)
    #expect(bench.coordinator.compared == 0)
    #expect(try await bench.finish(.user(user.idToken), session: session).error == nil)
    let again = try await bench.finish(.user(user.idToken), session: session)
    #expect(again.error?.reason == "CODE_USED")
  }

  @Test func `A wrong code counts once; missing ones are named`() async throws {
    let user = try await bench.makeUser()
    let session = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).verification
    let wrong = try await bench.finish(.user(user.idToken), session: session?.verificationID, code: "000000")
    #expect(wrong.error?.code == .invalidCode && wrong.error?.attemptsLeft == 4)
    #expect(try await bench.finish(.user(user.idToken), session: nil).error?.code == .missingSessionInfo)
    let codeless = try await bench.finish(.user(user.idToken), session: "v", code: nil)
    #expect(codeless.error?.code == .missingCode)
    let long = try await bench.finish(.user(user.idToken), session: session?.verificationID) {
      $0.displayName = String(repeating: "x", count: 257)
    }
    #expect(long.error?.field == "displayName" && bench.coordinator.compared == 1)
  }

  // MARK: The account's own number

  @Test func `A number that is a second factor does not become the account's own`() async throws {
    let user = try await bench.enroll(try await bench.makeUser())
    let verification = ScriptedCoordinator.Verification(number: AccountsBench.factorNumber)
    let linked = try await bench.signIn("l", verification: verification, idToken: user.idToken, operation: .link)
    #expect(linked.error == .numberOfBothFactors)
    #expect(try await bench.account(of: user)?.phoneNumber == nil)
    // Another account may have it.
    #expect(try await bench.signIn("n", verification: verification).reply.isNewUser == true)
  }

  @Test(arguments: [true, false])
  func `An enrolment and a link of one number at once: the first stands`(linksFirst: Bool) async throws {
    let user = try await bench.makeUser()
    let session = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).verification
    bench.coordinator.verifications["v-l"] = ScriptedCoordinator.Verification(number: AccountsBench.factorNumber)
    let enrol = try bench.finishing(.user(user.idToken), "e", session: session?.verificationID)
    #expect(try await bench.send(enrol, id: "e") == nil)
    let enrolment = try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now())
    let link = try bench.command("l", session: "v-l", idToken: user.idToken, operation: .link)
    #expect(try await bench.send(link, id: "l") == nil)
    let linking = try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now())
    var errors: [APIError?] = []
    for (reply, id) in linksFirst ? [(linking, "l"), (enrolment, "e")] : [(enrolment, "e"), (linking, "l")] {
      await bench.report(reply)
      errors.append(try bench.answer(try #require(bench.replies.first), id).error)
    }
    #expect(errors == [nil, .numberOfBothFactors])
    let account = try #require(try await bench.account(of: user))
    #expect((account.phoneNumber == nil) != linksFirst && account.secondFactors.isEmpty == linksFirst)
  }

  @Test func `Two enrolments of one number at once make one factor`() async throws {
    let user = try await bench.makeUser()
    var replies: [Delivery] = []
    for id in ["a", "b"] {
      let session = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).verification
      let command = try bench.finishing(.user(user.idToken), id, session: session?.verificationID)
      #expect(try await bench.send(command, id: id) == nil)
      replies.append(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    }
    await bench.report(replies[0], replies[1])
    #expect(try bench.answer(try #require(bench.replies.last), "b").error == .secondFactorExists)
    #expect(try await bench.factors(of: user).count == 1)
  }
}
