import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Unlinking, and users of other systems", .timeLimit(.minutes(10)))
struct UnlinkTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func token(_ subject: String, serial: Int = 0) -> FakeProvider.Token {
    var token = FakeProvider.Token(subject, email: "\(subject)@example.com")
    token.serial = serial
    return token
  }

  @Test func `Each way is listed, and once unlinked opens the account no longer`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "facebook.com", token("f"), idToken: user.idToken)
    _ = try await bench.signIn(at: "apple.com", token("a"), idToken: user.idToken)
    let account = try await bench.lookUp(try #require(user.idToken)).get()
    #expect(account.identities?.map(\.providerID) == ["facebook.com", "apple.com"])
    #expect(account.identities?.map(\.subject) == ["f", "a"] && account.email == "a@example.com")
    let reply = try await bench.unlink("apple.com", "google.com", idToken: user.idToken)
    let changed = try AccountChanged(json: reply.body).account
    #expect(changed.identities?.map(\.providerID) == ["facebook.com"] && changed.phoneNumber != nil)
    let events = try bench.events("account.unlinked").map { try AccountUnlinked(json: $0.message.body).provider }
    #expect(events == ["apple.com"])
    // Nor does its address: the same credential makes another account.
    let again = try await bench.signIn(at: "apple.com", token("a", serial: 1))
    #expect(again.reply.isNewUser == true && again.reply.localID != user.reply.localID)
    // The last one may go, and the session goes on.
    _ = try await bench.unlink("facebook.com", "phone", idToken: user.idToken)
    let bare = try await bench.lookUp(try #require(user.idToken)).get()
    #expect(bare.identities == nil && bare.phoneNumber == nil && bare.email == nil)
    let ways = try AccountsBench.Ways(try await bench.refresh(user.refreshToken))
    #expect(ways.provider == "apple.com" && ways.firebase.identities.isEmpty && ways.providerID == nil)
    // It may be deleted at any age.
    bench.clock.advance(by: .seconds(301))
    #expect(try await bench.delete(try #require(user.idToken)).type == AccountDeleted.type.text)
  }

  @Test func `Unlinking needs a recent sign-in where the project says so`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "apple.com", token("a"), idToken: user.idToken)
    bench.clock.advance(by: .seconds(301))
    var rules = Project.RecentLogin()
    rules.linking = true
    bench.use(AccountsBench.methods, rules)
    let refused = try await bench.unlink("apple.com", idToken: user.idToken)
    #expect(try ErrorReply(json: refused.body).error.code == .credentialTooOld)
    // Of what is not there it is no matter.
    #expect(try await bench.unlink("google.com", idToken: user.idToken).type == AccountChanged.type.text)
    bench.use()
    #expect(try await bench.unlink("apple.com", idToken: user.idToken).type == AccountChanged.type.text)
  }

  @Test func `A session by an identity that was unlinked is not a recent sign-in`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "apple.com", token("a"), idToken: user.idToken)
    let other = try await bench.signIn(at: "apple.com", token("a", serial: 1))
    _ = try await bench.unlink("apple.com", idToken: other.idToken)
    let refused = try await bench.delete(try #require(other.idToken))
    #expect(try ErrorReply(json: refused.body).error.code == .credentialTooOld)
  }

  @Test(arguments: [
    "x", String(repeating: "ü", count: 64), "a user-of some/other.system \u{1F98A}", " -", "e\u{301}",
  ])
  func `A user ID may be any text, of one byte and of 128`(_ localID: String) async throws {
    try await bench.transact { set throws(StoreError) in
      var account = try AccountRecord(localID, project: AccountsBench.project, at: set.now)
      account.phoneNumber = AccountsBench.number
      try account.store(isNew: true, in: &set)
    }
    let user = try await bench.signIn("a")
    #expect(user.reply.localID.map { Array($0.utf8) } == Array(localID.utf8) && user.reply.isNewUser == false)
    #expect(user.claims?.localID == localID)
    let event = try #require(bench.events("account.signIn").first)
    #expect(try AccountSignIn(json: event.message.body).localID == localID)
    let refreshed = try await bench.refresh(user.refreshToken)
    #expect(try await bench.lookUp(refreshed).get().localID == localID)
    let linked = try await bench.signIn(at: "google.com", token("g"), idToken: refreshed)
    #expect(linked.reply.localID == localID)
    #expect(try AccountDeleted(json: await bench.delete(refreshed).body).localID == localID)
    #expect(try await bench.refusal(of: refreshed)?.code == .userNotFound)
  }

  @Test func `User IDs that look alike are two`() async throws {
    for (localID, number) in [("e\u{301}", "+16505550101"), ("\u{E9}", "+16505550102")] {
      try await bench.transact { set throws(StoreError) in
        var account = try AccountRecord(localID, project: AccountsBench.project, at: set.now)
        account.phoneNumber = number
        try account.store(isNew: true, in: &set)
      }
      let user = try await bench.signIn(
        "s\(number)", verification: ScriptedCoordinator.Verification(number: number))
      #expect(user.reply.localID.map { Array($0.utf8) } == Array(localID.utf8))
      #expect(try await bench.lookUp(try #require(user.idToken)).get().phoneNumber == number)
    }
  }

  @Test func `The most and longest ways to sign in leave a token that counts`() async throws {
    var holder = try await bench.signIn()
    holder.account.photoURL = "https://a/" + String(repeating: "\"", count: 2038)
    holder.account.displayName = String(repeating: "\\", count: 256)
    for index in 0..<AccountRecord.maxIdentities {
      var identity = LinkedIdentity(
        provider: "oidc.\(index)", subject: "\(index)" + String(repeating: "\"", count: 250),
        linkedAt: bench.clock.now())
      identity.email = String(repeating: "\"", count: 240) + "@example.com"
      holder.account.identities.append(identity)
    }
    #expect(try bench.verified(bench.idToken(of: holder)).localID == holder.account.localID)
  }
}
