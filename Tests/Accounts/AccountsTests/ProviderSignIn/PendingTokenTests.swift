import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Credentials that count once, and what stands for them", .timeLimit(.minutes(10)))
struct PendingTokenTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func token(_ subject: String = "s1", serial: Int = 0) -> FakeProvider.Token {
    var token = FakeProvider.Token(subject, email: "\(subject)@example.com")
    token.serial = serial
    return token
  }

  private func refusedLink(_ subject: String = "s1", serial: Int = 1) async throws -> AccountsBench.Answer {
    let user = try await bench.signUp(bench.nextID())
    return try await bench.signIn(
      at: "apple.com", token(subject, serial: serial), idToken: user.idToken, app: AccountsBench.app)
  }

  @Test func `A token that counts once is spent by a sign-in and by a refused link, and never yields a pending token`()
    async throws
  {
    _ = try await bench.signIn(at: "apple.com", token())
    let refused = try await refusedLink()
    #expect(refused.reply.refusal == .identityAlreadyLinked && refused.pending != nil)
    for serial in [0, 1] {
      let again = try await bench.signIn(at: "apple.com", token(serial: serial))
      #expect(again.error?.code == .missingOrInvalidNonce && again.error?.reason == "DUPLICATE_CREDENTIAL")
      #expect(again.pending == nil)
    }
    // Those of others may come again.
    _ = try await bench.signIn(at: "google.com", token("g"))
    #expect(try await bench.signIn(at: "google.com", token("g")).reply.isNewUser == false)
  }

  @Test func `A pending token signs in, once, and alone counts beside a credential`() async throws {
    let holder = try await bench.signIn(at: "apple.com", token())
    let pending = try #require(try await refusedLink().pending)
    var both = try bench.credential("google.com", token("g"))
    both.pendingToken = pending.reveal()
    let signedIn = try await bench.answer(bench.ask(bench.command("a", both, app: AccountsBench.app), id: "a"), "a")
    #expect(signedIn.reply.localID == holder.reply.localID && signedIn.identity?.providerID == "apple.com")
    #expect(try await bench.signIn(pending: pending, app: AccountsBench.app).error?.code == .invalidPendingToken)
    // The command of before is answered alike.
    let again = try await bench.answer(bench.ask(bench.command("a", both, app: AccountsBench.app), id: "a"), "a")
    #expect(again.claims?.sessionID == signedIn.claims?.sessionID)
  }

  @Test func `A pending token links, when its holder is gone, and is spent by a refused link`() async throws {
    let holder = try await bench.signIn(at: "apple.com", token())
    let first = try #require(try await refusedLink().pending)
    let user = try await bench.signUp("u")
    let refused = try await bench.signIn(pending: first, idToken: user.idToken, app: AccountsBench.app) {
      $0.returnIDPCredential = true
    }
    #expect(refused.reply.refusal == .identityAlreadyLinked && refused.pending == nil)
    #expect(try await bench.signIn(pending: first, app: AccountsBench.app).error?.code == .invalidPendingToken)
    let second = try #require(try await refusedLink(serial: 2).pending)
    _ = try await bench.delete(try #require(holder.idToken))
    let linked = try await bench.signIn(pending: second, idToken: user.idToken, app: AccountsBench.app)
    #expect(linked.reply.localID == user.reply.localID && linked.ways?.provider == "apple.com")
  }

  @Test func `A pending token is of one app, and lasts an hour`() async throws {
    _ = try await bench.signIn(at: "apple.com", token())
    let pending = try await refusedLink().pending
    for app in ["com.example.other", nil] {
      #expect(try await bench.signIn(pending: pending, app: app).error?.code == .invalidPendingToken)
    }
    #expect(try await bench.signIn(pending: Secret("x")).error?.code == .invalidPendingToken)
    bench.use([.phone])
    let off = try await bench.signIn(pending: pending, app: AccountsBench.app)
    #expect(off.error?.reason == "METHOD_OFF")
    bench.use()
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.signIn(pending: pending, app: AccountsBench.app).error?.code == .invalidPendingToken)
  }

  @Test func `The same message gets the same pending token, with the token that it stands for`() async throws {
    _ = try await bench.signIn(at: "apple.com", token())
    let user = try await bench.signUp("u")
    let command = try bench.command("a", bench.credential("apple.com", token(serial: 1)), idToken: user.idToken)
    let first = try bench.answer(try await bench.ask(command, id: "a"), "a")
    let again = try bench.answer(try await bench.ask(command, id: "a"), "a")
    #expect(first.pending != nil && first.pending?.reveal() == again.pending?.reveal())
    #expect(again.reply.refusal == .identityAlreadyLinked)
    #expect(again.identity?.oauthIDToken == first.identity?.oauthIDToken && first.identity?.oauthIDToken != nil)
    #expect(try await bench.signIn(pending: first.pending).idToken != nil)
    // It is used: nothing gives it back.
    let last = try bench.answer(try await bench.ask(command, id: "a"), "a")
    #expect(last.error?.reason == "DUPLICATE_CREDENTIAL")
  }

  @Test func `The database shows neither pending tokens nor what they stand for`() async throws {
    _ = try await bench.signIn(at: "apple.com", token())
    let pending = try #require(try await refusedLink().pending)
    let ids = bench.parts.reader.tickets.ids(of: pending)
    let record = try await bench.look { set throws(StoreError) in
      try ids.first.flatMap { id throws(StoreError) in try set.record(id) }
    }
    let body = String(decoding: try #require(record).body, as: UTF8.self)
    #expect(!body.contains(pending.reveal()) && !body.contains("example.com\"") && !body.contains("s1@"))
  }
}
