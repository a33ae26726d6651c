import CommandEngine
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("What a first factor renews while the second one is missing", .timeLimit(.minutes(10)))
struct PendingRenewalTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useTOTP()
  }

  private struct User {
    let localID: String
    let authenticator: AccountsBench.Authenticator
    let factor: String
  }

  private static let first = "first@example.com"

  private func token(email: String = first, photo: String? = nil) -> FakeProvider.Token {
    var token = FakeProvider.Token("g", email: email)
    token.photo = photo
    return token
  }

  /// A user of Google with an authenticator.
  private func makeUser() async throws -> User {
    let user = try await bench.signIn(at: "google.com", token())
    let authenticator = try await bench.startTOTP(user.idToken)
    #expect(try await bench.enroll(authenticator, user.idToken).error == nil)
    let account = try #require(try await bench.account(of: user))
    bench.clock.advance(by: .seconds(60))
    return User(
      localID: account.localID, authenticator: authenticator,
      factor: try #require(account.secondFactors.first).enrollmentID)
  }

  private func pend(_ token: FakeProvider.Token) async throws -> Secret {
    let id = bench.nextID()
    return try bench.pendingCredential(of: try await bench.signIn(at: "google.com", token, id: id), id)
  }

  private func finish(_ user: User, _ pending: Secret) async throws -> AccountsBench.Answer {
    try await bench.signIn(
      pending: pending, factor: user.factor, code: user.authenticator.code(at: bench.clock.now()))
  }

  @Test func `A sign-in that never gives the second factor changes nothing of the account`() async throws {
    let user = try await makeUser()
    let before = try await bench.find(user.localID)
    _ = try await pend(token(email: "other@example.com", photo: "https://example.com/new.png"))
    #expect(bench.events("account.updated").isEmpty)
    #expect(try await bench.find(user.localID) == before)
    bench.clock.advance(by: PendingSignIn.lifetime)
    await bench.maintenance.tidy()
    #expect(try await bench.find(user.localID) == before)
    // The address is free.
    #expect(try await bench.signUp(email: "other@example.com").error == nil)
  }

  @Test func `With the second factor the account is renewed, beside what has changed meanwhile`() async throws {
    let user = try await makeUser()
    let pending = try await pend(token(email: "other@example.com", photo: "https://example.com/new.png"))
    let account = try #require(try await bench.find(user.localID))
    try await bench.change(account) { account, _ in account.displayName = "Ada" }
    #expect(try await finish(user, pending).idToken != nil)
    let renewed = try #require(try await bench.find(user.localID))
    let identity = try #require(renewed.identity(at: "google.com"))
    #expect(identity.email == "other@example.com" && identity.ownsEmail && identity.isEmailVerified)
    #expect(identity.photoURL == "https://example.com/new.png" && renewed.displayName == "Ada")
    #expect(bench.events("account.signIn").count == 1)
  }

  @Test func `An address that another account has taken meanwhile stays with that one`() async throws {
    let user = try await makeUser()
    let pending = try await pend(token(email: "other@example.com"))
    let other = try await bench.signUp(email: "other@example.com")
    #expect(try await finish(user, pending).idToken != nil)
    let identity = try #require(try await bench.find(user.localID)?.identity(at: "google.com"))
    #expect(identity.email == "other@example.com" && !identity.ownsEmail)
    #expect(try await bench.account(of: other)?.email == "other@example.com")
  }

  @Test func `A link of a mail becomes a way in with the second factor only`() async throws {
    let user = try await makeUser()
    let before = try await bench.find(user.localID)
    let id = bench.nextID()
    let code = try await bench.sendLink(.signIn, to: Self.first).code
    let pending = try bench.pendingCredential(of: try await bench.signIn(link: code, email: Self.first, id: id), id)
    #expect(try await bench.find(user.localID) == before && before?.signsInByEmail == false)
    #expect(try await finish(user, pending).idToken != nil)
    let renewed = try #require(try await bench.find(user.localID))
    #expect(renewed.signsInByEmail && renewed.email == Self.first)
    #expect(bench.events("account.linked").count == 1)
  }

  @Test func `The number's first real proof ends sessions of its fixed code with the second factor only`() async throws
  {
    let enrolled = try await bench.enrolledUser()
    let account = try #require(try await bench.account(of: enrolled.user))
    try await bench.change(account) { account, _ in
      (account.phoneNumber, account.isNumberFictional) = (AccountsBench.number, true)
    }
    let before = try await bench.sessions(of: account).map(\.id)
    let id = bench.nextID()
    let pending = try bench.pendingCredential(of: try await bench.signIn(bench.command(id), id), id)
    #expect(try await bench.find(account)?.isNumberFictional == true)
    #expect(try await bench.sessions(of: account).map(\.id) == before && !before.isEmpty)
    let code = enrolled.authenticator.code(at: bench.clock.now())
    #expect(try await bench.signIn(pending: pending, factor: enrolled.id, code: code).idToken != nil)
    #expect(try await bench.find(account)?.isNumberFictional == false)
    let left = try await bench.sessions(of: account).map(\.id)
    #expect(left.count == 1 && !before.contains(left[0]))
  }
}
