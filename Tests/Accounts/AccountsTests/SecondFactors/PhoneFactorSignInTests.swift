import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Signing in with a phone as second factor", .timeLimit(.minutes(10)))
struct PhoneFactorSignInTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  @Test func `After the password the code of the number opens a session, once`() async throws {
    let user = try await bench.makeFactorUser()
    let (pending, factors) = try await bench.pend()
    let factor = try #require(factors.first)
    #expect(factor.phoneNumber == "+*******0177" && factors.count == 1)
    let started = try await bench.start(.pending(pending), enrollmentID: factor.enrollmentID)
    let verification = try #require(started.verification)
    #expect(verification.phoneNumber == "+*******0177" && verification.purpose == .secondFactorSignIn)
    let account = try #require(try await bench.account(of: user))
    let sent = try #require(bench.coordinator.starts.last?.command)
    #expect(sent.phoneNumber == AccountsBench.factorNumber && sent.subject == account.id.text)
    let signedIn = try await bench.finish(.pending(pending), session: verification.verificationID)
    #expect(signedIn.reply.localID == user.reply.localID && signedIn.idToken != nil)
    let event = try #require(bench.events("account.signIn").first)
    #expect(try AccountSignIn(json: event.message.body).secondFactor == .phone)
    let session = try #require(
      try await bench.sessions(of: account).first { $0.id.text == signedIn.claims?.sessionID })
    #expect(session.firstFactor == .password && session.enrollmentID == factor.enrollmentID)
    // Used, the pending credential neither starts nor finishes.
    let again = try await bench.start(.pending(pending), enrollmentID: factor.enrollmentID)
    #expect(again.error == .invalidPendingCredential)
    let finished = try await bench.finish(.pending(pending), session: verification.verificationID)
    #expect(finished.error == .invalidPendingCredential)
  }

  @Test func `What names no factor of the account is refused before a code is sent`() async throws {
    _ = try await bench.makeFactorUser()
    let (pending, factors) = try await bench.pend()
    let enrollmentID = try #require(factors.first?.enrollmentID)
    #expect(try await bench.start(.pending(pending)).error == .missingEnrollmentID)
    #expect(try await bench.start(.pending(pending), enrollmentID: "other").error == .enrollmentNotFound)
    #expect(try await bench.start(.pending(nil), enrollmentID: enrollmentID).error == .missingPendingCredential)
    let forged = try await bench.start(.pending(Secret("forged")), enrollmentID: enrollmentID)
    #expect(forged.error == .invalidPendingCredential)
    bench.usePasswords()
    #expect(try await bench.start(.pending(pending), enrollmentID: enrollmentID).error?.reason == "METHOD_OFF")
    let off = try await bench.finish(.pending(pending), session: "s0")
    #expect(off.error?.reason == "METHOD_OFF")
    bench.useFactors()
    bench.clock.advance(by: PendingSignIn.lifetime)
    let late = try await bench.start(.pending(pending), enrollmentID: enrollmentID)
    #expect(late.error == .invalidPendingCredential && bench.coordinator.starts.count == 1)
  }

  @Test func `A code is for its purpose and account; the number that was proven names the factor`() async throws {
    let user = try await bench.makeFactorUser()
    let (pending, factors) = try await bench.pend()
    let session = try await bench.startSignIn(pending, try #require(factors.first?.enrollmentID))
    let other = try await bench.enroll(try await bench.makeUser(email: "other@example.com"))
    let theirs = try await bench.pend(email: "other@example.com")
    let stolen = try await bench.finish(.pending(theirs.credential), session: session)
    #expect(stolen.error?.code == .invalidSessionInfo)
    let enrolling = try await bench.finish(.user(other.idToken), session: session)
    #expect(enrolling.error?.code == .invalidSessionInfo)
    let firstFactor = try await bench.finish(.pending(pending), session: "v1")
    #expect(firstFactor.error?.code == .invalidSessionInfo)
    // The factor goes while its code is on its way.
    let account = try #require(try await bench.account(of: user))
    try await bench.change(account) { account, _ in
      account.secondFactors[0].phoneNumber = "+16505550100"
    }
    let gone = try await bench.finish(.pending(pending), session: session)
    #expect(gone.error == .enrollmentNotFound)
  }

  @Test func `Two finishes of one pending credential at once begin one session`() async throws {
    _ = try await bench.makeFactorUser()
    let (pending, factors) = try await bench.pend()
    var replies: [Delivery] = []
    for id in ["a", "b"] {
      let session = try await bench.startSignIn(pending, try #require(factors.first?.enrollmentID))
      let command = try bench.finishing(.pending(pending), id, session: session)
      #expect(try await bench.send(command, id: id) == nil)
      replies.append(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    }
    await bench.report(replies[0], replies[1])
    #expect(bench.events("account.signIn").count == 1)
    #expect(try bench.answer(try #require(bench.replies.last), "b").error == .invalidPendingCredential)
  }

  @Test func `A password that changes while the code is on its way voids the first factor`() async throws {
    let user = try await bench.makeFactorUser()
    let (pending, factors) = try await bench.pend()
    let session = try await bench.startSignIn(pending, try #require(factors.first?.enrollmentID))
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.change(user.idToken, password: AccountsBench.otherPassword).error == nil)
    let late = try await bench.finish(.pending(pending), session: session)
    #expect(late.error == .invalidPendingCredential)
  }

  // MARK: First factors

  /// Puts a factor on the account of an answer.
  private func addFactor(_ answer: AccountsBench.Answer) async throws {
    let account = try #require(try await bench.account(of: answer))
    let now = bench.clock.now()
    try await bench.change(account) { account, _ in
      var factor = SecondFactor(.phone, enrollmentID: "f", enrolledAt: now)
      factor.phoneNumber = AccountsBench.factorNumber
      account.secondFactors = [factor]
    }
  }

  @Test func `Any first factor, the account's own number included, answers with a pending credential`() async throws {
    bench.useCustomTokens()
    bench.useLinks { $0.methods.formUnion([.phoneSecondFactor, .custom]) }
    try await bench.makeServiceAccount([.tokens])
    let signIns: [(AccountsBench) async throws -> AccountsBench.Answer] = [
      { try await $0.signIn($0.nextID()) },
      { try await $0.signIn(email: AccountsBench.email) },
      { try await $0.signInByLink() },
      { try await $0.signIn(at: "google.com", FakeProvider.Token("g")) },
      { try await $0.signIn(custom: $0.signed($0.customClaims())) },
    ]
    for (place, signIn) in signIns.enumerated() {
      if place == 1 { _ = try await bench.makeUser() }
      let first = try await signIn(bench)
      #expect(first.reply.tokens != nil, "\(place)")
      try await addFactor(first)
      let second = try await signIn(bench)
      #expect(second.error == nil && second.reply.tokens == nil && second.reply.pendingCredential != nil, "\(place)")
      #expect(second.reply.secondFactors?.map(\.phoneNumber) == ["+*******0177"], "\(place)")
      #expect(bench.events("account.signIn").isEmpty, "\(place)")
      let account = try #require(try await bench.account(of: first))
      try await bench.change(account) { account, _ in account.secondFactors = [] }
    }
  }

  // MARK: Fictional numbers

  @Test func `A fictional number enrols and signs in, and a real proof makes it a real one`() async throws {
    let user = try await bench.makeFactorUser(isFictional: true)
    #expect(try await bench.factors(of: user).first?.isNumberFictional == true)
    func signIn(isFictional: Bool) async throws -> AccountsBench.Answer {
      let (pending, factors) = try await bench.pend()
      let started = try await bench.start(
        .pending(pending), enrollmentID: factors.first?.enrollmentID, isFictional: isFictional)
      return try await bench.finish(.pending(pending), session: started.verification?.verificationID)
    }
    #expect(try await signIn(isFictional: true).error == nil)
    #expect(try await bench.factors(of: user).first?.isNumberFictional == true)
    #expect(try await signIn(isFictional: false).error == nil)
    #expect(try await bench.factors(of: user).first?.isNumberFictional == false)
    #expect(try await signIn(isFictional: true).error == .numberProvenForReal)
    #expect(bench.parts.rules.fictionalRefusals.total == 1)
  }
}
