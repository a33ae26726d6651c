import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("The link of a mail does what it is for, once", .timeLimit(.minutes(10)))
struct ApplyMailLinkTests {
  private static let address = AccountsBench.address
  private static let other = AccountsBench.otherAddress
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useLinks()
  }

  private func user() async throws -> AccountsBench.Answer { try await bench.signUp(email: Self.address) }

  private func changeCode(_ user: AccountsBench.Answer) async throws -> String? {
    try await bench.sendLink(.changeAddress, newEmail: Self.other, idToken: user.idToken).code
  }

  @Test func `A verification proves the address, and sessions go on`() async throws {
    let user = try await user()
    let code = try await bench.sendLink(.verifyAddress, idToken: user.idToken).code
    #expect(try await bench.apply(code, isLook: true).reply?.email == Self.address)
    #expect(try await bench.account(of: user)?.isEmailVerified == false)
    #expect(try await bench.apply(code, newPassword: "a new one").error == .invalidOobCode)
    let applied = try await bench.apply(code)
    #expect(applied.reply?.purpose == .verifyAddress && applied.reply?.localID == user.reply.localID)
    #expect(try await bench.account(of: user)?.isEmailVerified == true)
    #expect(try await bench.refusal(of: user.idToken) == nil)
    #expect(try await bench.apply(code).error == .invalidOobCode)
  }

  @Test func `A reset sets the password, proves the address and ends all sessions`() async throws {
    let user = try await user()
    let code = try await bench.sendLink(.resetPassword, to: Self.address).code
    bench.clock.advance(by: .seconds(1))
    for _ in 0..<10 { #expect(try await bench.apply(code, isLook: true).reply?.purpose == .resetPassword) }
    #expect(try await bench.apply(code, newPassword: "short").error == .weakPassword)
    #expect(try await bench.apply(code).error == .invalidOobCode)
    let applied = try await bench.apply(code, newPassword: AccountsBench.otherPassword)
    #expect(applied.reply?.email == Self.address && applied.error == nil)
    #expect(try await bench.refusal(of: user.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: Self.address).error?.code == .invalidLoginCredentials)
    let signedIn = try await bench.signIn(email: Self.address, AccountsBench.otherPassword)
    #expect(signedIn.ways?.isEmailVerified == true)
    #expect(try await bench.apply(code, newPassword: AccountsBench.password).error == .invalidOobCode)
  }

  @Test(arguments: [false, true])
  func `A reset takes from an account that never proved its address what else opens it`(isProven: Bool) async throws {
    let user = try await user()
    if isProven { try await bench.verifyEmail(of: user) }
    try await bench.change(try #require(try await bench.account(of: user))) { account, set in
      account.phoneNumber = AccountsBench.number
      account.add(LinkedIdentity(provider: "google.com", subject: "maker", linkedAt: set.now))
    }
    let code = try await bench.sendLink(.resetPassword, to: Self.address).code
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.apply(code, newPassword: AccountsBench.otherPassword).error == nil)
    let account = try #require(try await bench.account(of: user))
    #expect(account.isEmailVerified && account.ways == (isProven ? ["google.com", "phone", "password"] : ["password"]))
    #expect(try await bench.signIn(email: Self.address, AccountsBench.otherPassword).error == nil)
  }

  @Test func `A reset is over after an hour, and void after a change of the password`() async throws {
    let user = try await user()
    let code = try await bench.sendLink(.resetPassword, to: Self.address).code
    let late = try await bench.sendLink(.resetPassword, to: Self.address).code
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.change(user.idToken, password: AccountsBench.otherPassword).error == nil)
    #expect(try await bench.apply(code, newPassword: AccountsBench.password).error == .invalidOobCode)
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.apply(late, newPassword: AccountsBench.password).error == .expiredOobCode)
  }

  @Test func `A user without a password gets one by a reset`() async throws {
    let user = try await bench.signIn(at: "google.com", FakeProvider.Token("ada", email: Self.address))
    let code = try await bench.sendLink(.resetPassword, to: Self.address).code
    #expect(try await bench.apply(code, newPassword: AccountsBench.password).error == nil)
    #expect(try await bench.signIn(email: Self.address).reply.localID == user.reply.localID)
    #expect(try await bench.account(of: user)?.ways == ["google.com", "password"])
  }

  @Test func `A change takes the new address, and ends the sessions of others`() async throws {
    let user = try await user()
    try await bench.verifyEmail(of: user)
    let second = try await bench.signIn(email: Self.address)
    let code = try await changeCode(user)
    #expect(try await bench.account(of: user)?.email == Self.address)
    let applied = try await bench.apply(code)
    #expect(applied.reply?.email == Self.address && applied.reply?.newEmail == Self.other)
    let account = try #require(try await bench.account(of: user))
    #expect(account.email == Self.other && account.isEmailVerified && account.initialEmail == Self.address)
    #expect(try await bench.refusal(of: user.idToken) == nil)
    #expect(try await bench.refusal(of: second.idToken)?.code == .tokenExpired)
    #expect(try await bench.signIn(email: Self.other).error == nil)
    // The old address is told, and is free.
    #expect(applied.mails.map(\.job.to) == [Self.address] && applied.mails.first?.mode == "recoverEmail")
    #expect(try await bench.signUp(email: Self.address).reply.isNewUser == true)
  }

  @Test func `A new address that somebody took meanwhile is refused`() async throws {
    let code = try await changeCode(user())
    _ = try await bench.signUp(email: Self.other)
    #expect(try await bench.apply(code).error == .emailExists)
  }

  @Test func `An address that was never proven gets no link to take the account`() async throws {
    let applied = try await bench.apply(changeCode(user()))
    #expect(applied.error == nil && applied.mails.isEmpty)
  }

  @Test func `The old address takes a change back, and shuts the thief out`() async throws {
    let user = try await user()
    try await bench.verifyEmail(of: user)
    let recover = try await bench.apply(changeCode(user)).mails.first?.code
    bench.clock.advance(by: .seconds(1))
    let thief = try await bench.signIn(email: Self.other)
    let changed = try await bench.change(thief.idToken, password: AccountsBench.otherPassword)
    #expect(changed.error == nil)
    try await bench.change(try #require(try await bench.account(of: user))) { account, set in
      account.phoneNumber = AccountsBench.number
      account.add(LinkedIdentity(provider: "google.com", subject: "thief", linkedAt: set.now))
    }
    bench.clock.advance(by: .seconds(29 * 86_400))
    #expect(try await bench.apply(recover, isLook: true).reply?.email == Self.address)
    let applied = try await bench.apply(recover)
    #expect(applied.reply?.purpose == .recoverAddress && applied.reply?.email == Self.address)
    let account = try #require(try await bench.account(of: user))
    #expect(account.email == Self.address && account.isEmailVerified && !account.hasPassword && account.ways.isEmpty)
    #expect(try await bench.sessions(of: account).isEmpty)
    #expect(try await bench.signIn(email: Self.address, AccountsBench.otherPassword).error != nil)
    let reset = try await bench.sendLink(.resetPassword, to: Self.address).code
    #expect(try await bench.apply(reset, newPassword: AccountsBench.password).error == nil)
    #expect(try await bench.apply(recover).error == .invalidOobCode)
  }

  @Test func `A change that is taken back leaves the password, number and identities of before`() async throws {
    let user = try await user()
    try await bench.verifyEmail(of: user)
    try await bench.change(try #require(try await bench.account(of: user))) { account, set in
      account.phoneNumber = AccountsBench.number
      account.add(LinkedIdentity(provider: "google.com", subject: "owner", linkedAt: set.now))
    }
    bench.clock.advance(by: .seconds(1))
    let recover = try await bench.apply(changeCode(user)).mails.first?.code
    #expect(try await bench.apply(recover).error == nil)
    #expect(try await bench.account(of: user)?.ways == ["google.com", "phone", "password"])
    #expect(try await bench.signIn(email: Self.address).error == nil)
  }

  @Test func `An address that somebody else has now does not come back`() async throws {
    let user = try await user()
    try await bench.verifyEmail(of: user)
    let recover = try await bench.apply(changeCode(user)).mails.first?.code
    _ = try await bench.signUp(email: Self.address)
    #expect(try await bench.apply(recover).error == .emailExists)
  }

  @Test func `A change of the address voids the links of before`() async throws {
    let user = try await user()
    let verify = try await bench.sendLink(.verifyAddress, idToken: user.idToken).code
    let reset = try await bench.sendLink(.resetPassword, to: Self.address).code
    let signIn = try await bench.sendLink(.signIn, to: Self.address).code
    #expect(try await bench.apply(changeCode(user)).error == nil)
    #expect(try await bench.apply(verify).error == .invalidOobCode)
    #expect(try await bench.apply(reset, newPassword: AccountsBench.otherPassword).error == .invalidOobCode)
    #expect(try await bench.signIn(link: signIn).error?.code == .invalidOobCode)
  }

  @Test func `A link of a deleted account does not count for a new one of the same user ID`() async throws {
    let user = try await user()
    try await bench.verifyEmail(of: user)
    let recover = try await bench.apply(changeCode(user)).mails.first?.code
    let localID = try #require(user.reply.localID)
    #expect(try AccountsRemoved(json: try await bench.remove([localID], isForced: true).body).refused.isEmpty)
    bench.clock.advance(by: .seconds(1))
    var successor = UserFields(localID: localID)
    successor.email = "new@example.com"
    #expect(try code(try await bench.create(successor)) == nil)
    #expect(try await bench.apply(recover, isLook: true).error == .invalidOobCode)
    #expect(try await bench.apply(recover).error == .invalidOobCode)
    #expect(try await bench.find(localID)?.email == "new@example.com")
  }

  @Test func `A link counts in its own project, and not for an account that is gone`() async throws {
    let user = try await user()
    let code = try await bench.sendLink(.verifyAddress, idToken: user.idToken).code
    let known = try #require(bench.parts.rules.projects.current[AccountsBench.project])
    bench.parts.rules.projects.take(Projects([known, Project(id: AccountsBench.otherProject, number: 2)]))
    #expect(try await bench.apply(code) { $0.project = AccountsBench.otherProject }.error == .invalidOobCode)
    #expect(try await bench.apply(code) { $0.app = "com.example.foreign" }.error != nil)
    #expect(try await bench.apply("no code").error == .invalidOobCode)
    let account = try #require(try await bench.account(of: user))
    let sessions = bench.parts.sessions
    try await bench.transact { set throws(StoreError) in try sessions.delete(account, in: &set) }
    #expect(try await bench.apply(code).error == .invalidOobCode)
  }
}
