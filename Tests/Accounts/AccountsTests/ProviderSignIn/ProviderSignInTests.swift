import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Signing in by identity providers", .timeLimit(.minutes(10)))
struct ProviderSignInTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private static let providers = FakeProvider.all.map(\.id)

  private func token(
    _ subject: String = "s1", email: String? = nil, serial: Int = 0, name: String? = nil
  ) -> FakeProvider.Token {
    var token = FakeProvider.Token(subject, email: email)
    token.serial = serial
    token.name = name
    return token
  }

  // MARK: Rows of the table

  @Test(arguments: providers)
  func `An unknown identity makes an account, and opens it from then on`(_ provider: String) async throws {
    let first = try await bench.signIn(at: provider, token(email: "ada@example.com", name: "Ada"))
    #expect(first.reply.isNewUser == true && first.reply.phoneNumber == nil)
    #expect(try AccountCreated(json: #require(bench.events("account.created").first).message.body).provider == provider)
    let event = try AccountSignIn(json: try #require(bench.events("account.signIn").first).message.body)
    #expect(event.provider == provider && event.isNewUser && event.localID == first.reply.localID)
    #expect(first.identity?.providerID == provider && first.identity?.federatedID == "s1")
    #expect(first.identity?.email == "ada@example.com" && first.identity?.displayName == "Ada")
    let ways = try #require(first.ways)
    #expect(ways.provider == provider && ways.providerID == nil && ways.email == "ada@example.com")
    #expect(ways.isEmailVerified == (provider != "facebook.com"))
    #expect(ways.firebase.identities == [provider: ["s1"], "email": ["ada@example.com"]])
    let second = try await bench.signIn(at: provider, token(email: "ada@example.com", serial: 1))
    #expect(second.reply.localID == first.reply.localID && second.reply.isNewUser == false)
    #expect(second.claims?.sessionID != first.claims?.sessionID)
    let account = try await bench.lookUp(try #require(second.idToken)).get()
    #expect(account.displayName == "Ada" && account.identities?.map(\.providerID) == [provider])
    // Disabled, it opens nothing.
    let record = try #require(try await bench.account(of: second))
    try await bench.change(record) { account, _ in account.isDisabled = true }
    #expect(try await bench.signIn(at: provider, token(serial: 2)).error?.code == .userDisabled)
  }

  @Test func `An identity is that of the issuer which vouched for it first`() async throws {
    func signIn(_ issuer: String?, _ idToken: Secret? = nil) async throws -> AccountsBench.Answer {
      var token = token()
      token.issuer = issuer
      return try await bench.signIn(at: "google.com", token, idToken: idToken)
    }
    // One that an administrator has put on the account has none yet.
    let first = try await signIn(nil)
    let second = try await signIn("https://a.example")
    #expect(second.reply.localID == first.reply.localID && second.idToken != nil)
    for idToken in [nil, second.idToken] {
      let other = try await signIn("https://b.example", idToken)
      #expect(other.error?.code == .invalidIDPResponse && other.idToken == nil)
    }
    #expect(try await signIn(nil).error?.code == .invalidIDPResponse)
    #expect(try await signIn("https://a.example").reply.localID == first.reply.localID)
    #expect(bench.parts.rules.fictionalRefusals.total == 0)
  }

  @Test(arguments: providers)
  func `What may make no account is unknown`(_ provider: String) async throws {
    let answer = try await bench.signIn(at: provider, token()) { $0.autoCreate = false }
    #expect(bench.events("account.created").isEmpty && answer.idToken == nil)
    #expect((answer.error?.code ?? answer.reply.refusal) == .userNotFound)
    #expect((answer.pending != nil) == (provider == "apple.com"))
  }

  @Test(arguments: providers)
  func `An identity is linked to a signed-in account, whose session goes on`(_ provider: String) async throws {
    let user = try await bench.signUp("u")
    bench.clock.advance(by: .seconds(100))
    let linked = try await bench.signIn(at: provider, token(name: "Ada"), idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID && linked.reply.isNewUser == false)
    #expect(linked.claims?.sessionID == user.claims?.sessionID && linked.claims?.authTime == user.claims?.authTime)
    #expect(try AccountLinked(json: #require(bench.events("account.linked").first).message.body).provider == provider)
    #expect(bench.events("account.signIn").isEmpty)
    // Other tabs follow.
    let ways = try AccountsBench.Ways(try await bench.refresh(user.refreshToken))
    #expect(ways.provider == provider && ways.providerID == nil && linked.ways == ways)
    let account = try #require(try await bench.account(of: linked))
    #expect(!account.isAnonymous && account.displayName == "Ada")
    // Again: tokens of the same session. Another subject of the provider is refused.
    let again = try await bench.signIn(at: provider, token(serial: 1), idToken: user.idToken)
    #expect(again.claims?.sessionID == user.claims?.sessionID && bench.events("account.linked").isEmpty)
    let other = try await bench.signIn(at: provider, token("s2"), idToken: user.idToken)
    #expect((other.error?.code ?? other.reply.refusal) == .identityAlreadyLinked)
    #expect(try await bench.signIn(at: provider, token(serial: 2)).reply.localID == user.reply.localID)
  }

  @Test(arguments: providers)
  func `An identity of another account is refused, and the credential merges the two`(_ provider: String) async throws {
    let holder = try await bench.signIn(at: provider, token())
    let user = try await bench.signUp("u")
    let refused = try await bench.signIn(at: provider, token(serial: 1), idToken: user.idToken) {
      $0.returnIDPCredential = true
    }
    #expect(refused.reply.refusal == .identityAlreadyLinked && refused.idToken == nil)
    #expect(refused.identity?.oauthIDToken != nil)
    let merged =
      if provider == "apple.com" {
        try await bench.signIn(pending: refused.pending)
      } else {
        try await bench.signIn(at: provider, token(serial: 1))
      }
    #expect(merged.reply.localID == holder.reply.localID && merged.idToken != nil)
    // The first user's tokens stay good.
    #expect(try await bench.refusal(of: user.idToken) == nil)
    let bare = try await bench.signIn(at: provider, token(serial: 2), idToken: user.idToken)
    #expect((bare.error?.code ?? bare.reply.refusal) == .identityAlreadyLinked)
    #expect((bare.pending != nil) == (provider == "apple.com"))
  }

  @Test func `Two links of one identity at the same time: one account gets it`() async throws {
    var messages: [Message] = []
    for id in ["u", "w"] {
      let user = try await bench.signUp(id)
      let credential = try bench.credential("google.com", token())
      messages.append(
        try bench.message(
          bench.command("l-\(id)", credential, idToken: user.idToken) { $0.returnIDPCredential = true }, id: "l-\(id)"))
    }
    _ = bench.sink.takePublished()
    await bench.deliver(messages)
    let answers = try zip(bench.replies, ["l-u", "l-w"]).map { reply, _ in try AccountSignedIn(json: reply.body) }
    #expect(answers.count == 2 && answers.compactMap(\.tokens).count == 1)
    #expect(answers.compactMap(\.refusal) == [.identityAlreadyLinked])
    #expect(bench.events("account.linked").count == 1)
  }

  // MARK: Addresses

  @Test func `A believed address opens the account that has it, and links the identity`() async throws {
    let first = try await bench.signIn(at: "google.com", token(email: "ada@example.com"))
    let second = try await bench.signIn(at: "apple.com", token("a1", email: " Ada@Example.COM"))
    #expect(second.reply.localID == first.reply.localID && second.reply.isNewUser == false)
    #expect(bench.events("account.linked").count == 1 && bench.events("account.signIn").count == 1)
    #expect(try await bench.signIn(at: "apple.com", token("a1", serial: 1)).reply.localID == first.reply.localID)
    // With room for one of a provider: another Google account of that address has to be confirmed.
    let third = try await bench.signIn(at: "google.com", token("s2", email: "ada@example.com"))
    #expect(third.reply.needsConfirmation == true && third.reply.verifiedProviders == ["google.com", "apple.com"])
    // A sign-in that may make no account does not link either.
    let other = try await bench.signIn(at: "apple.com", token("a2", email: "ada@example.com")) { $0.autoCreate = false }
    #expect(other.reply.refusal == .userNotFound)
  }

  @Test func `An address that is not believed opens nothing: the user has to confirm`() async throws {
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "google.com", token(email: "ada@example.com"), idToken: user.idToken)
    let answer = try await bench.signIn(at: "facebook.com", token("f1", email: "ada@example.com"))
    #expect(answer.reply.needsConfirmation == true && answer.idToken == nil && answer.pending == nil)
    #expect(answer.reply.verifiedProviders == ["google.com", "phone"] && answer.identity?.federatedID == "f1")
    var unverified = token("a1", email: "ada@example.com")
    unverified.isVerified = false
    let apple = try await bench.signIn(at: "apple.com", unverified)
    #expect(apple.reply.needsConfirmation == true && apple.pending != nil)
    // Signed in, the user may link it.
    let linked = try await bench.signIn(
      at: "facebook.com", token("f1", email: "ada@example.com"), idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID)
    let pending = try await bench.signIn(pending: apple.pending, idToken: user.idToken)
    #expect(pending.reply.localID == user.reply.localID)
  }

  @Test func `An unverified address lets nobody in beforehand`() async throws {
    let squatter = try await bench.signIn(at: "facebook.com", token("f1", email: "ada@example.com"))
    let owner = try await bench.signIn(at: "google.com", token(email: "ada@example.com"))
    #expect(owner.reply.isNewUser == true && owner.reply.localID != squatter.reply.localID)
  }

  @Test func `Relay addresses never match`() async throws {
    var relay = token(email: "x@privaterelay.appleid.com")
    relay.isRelay = true
    let first = try await bench.signIn(at: "apple.com", relay)
    let second = try await bench.signIn(at: "google.com", token("g1", email: "x@privaterelay.appleid.com"))
    #expect(second.reply.isNewUser == true && second.reply.localID != first.reply.localID)
    relay.subject = "s3"
    #expect(try await bench.signIn(at: "apple.com", relay).reply.isNewUser == true)
  }

  @Test func `A link whose address another account has is refused`() async throws {
    _ = try await bench.signIn(at: "google.com", token(email: "ada@example.com"))
    let user = try await bench.signUp("u")
    let plain = try await bench.signIn(
      at: "google.com", token("g2", email: "ada@example.com"), idToken: user.idToken)
    #expect(plain.error?.code == .emailExists)
    let apple = try await bench.signIn(at: "apple.com", token("a1", email: "ada@example.com"), idToken: user.idToken)
    #expect(apple.reply.refusal == .emailExists && apple.pending != nil)
    // Facebook does not vouch for it, and so takes it from nobody.
    let facebook = try await bench.signIn(
      at: "facebook.com", token("f1", email: "ada@example.com"), idToken: user.idToken)
    #expect(facebook.reply.localID == user.reply.localID)
  }

  // MARK: Names

  @Test func `A name that comes once is kept, and replaces none`() async throws {
    let first = try await bench.signIn(at: "apple.com", token(name: "Ada Lovelace"))
    _ = try await bench.signIn(at: "apple.com", token(serial: 1))
    #expect(try await bench.account(of: first)?.displayName == "Ada Lovelace")
    // Through a refused link, too.
    let user = try await bench.signUp("u")
    _ = try await bench.update(user.idToken) { $0.displayName = "Grace" }
    _ = try await bench.signIn(at: "google.com", token("g1", name: "Other"), idToken: user.idToken)
    #expect(try await bench.account(of: user)?.displayName == "Grace")
    let refused = try await bench.signIn(at: "apple.com", token("a9", name: "Alan")) { $0.autoCreate = false }
    let made = try await bench.signIn(pending: refused.pending)
    #expect(made.reply.isNewUser == true)
    #expect(try await bench.account(of: made)?.displayName == "Alan")
    // Too long a name is cut, and an address that may not be shown is left out.
    var odd = token("a10", name: "A\u{202E}" + String(repeating: "é", count: 200))
    odd.photo = "javascript:alert(1)"
    let account = try #require(try await bench.account(of: bench.signIn(at: "apple.com", odd)))
    #expect(account.displayName?.utf8.count == 255 && account.photoURL == nil)
  }

  // MARK: What is off, wrong or late

  @Test func `Unknown providers, methods that are off and wrong credentials are refused`() async throws {
    #expect(try await bench.signIn(at: "unknown.com", token()).error?.code == .invalidProviderID)
    let id = bench.nextID()
    let empty = try await bench.error(bench.command(id, IDPCredential()), id: id)
    #expect(empty.code == .invalidProviderID)
    var wrong = IDPCredential(providerID: "apple.com")
    wrong.idToken = "x"
    #expect(try await bench.error(bench.command("w", wrong), id: "w").code == .invalidIDPResponse)
    let user = try await bench.signUp("u")
    bench.use([.phone, .anonymous, .provider("google.com")])
    for idToken in [nil, user.idToken] {
      let off = try await bench.signIn(at: "apple.com", token(), idToken: idToken)
      #expect(off.error?.code == .operationNotAllowed && off.error?.reason == "METHOD_OFF")
    }
    bench.use()
    // The token is not used up by that.
    #expect(try await bench.signIn(at: "apple.com", token()).reply.isNewUser == true)
    let app = try await bench.signIn(at: "google.com", token(), app: "com.example.unknown")
    #expect(app.error?.reason == "APP_NOT_FOUND")
  }

  @Test func `Nothing is used up for a requester that has gone`() async throws {
    let command = try bench.command("a", bench.credential("apple.com", token()))
    let message = try bench.message(command, id: "a")
    bench.clock.advance(by: .seconds(20))
    let late = try bench.answer(try await bench.ask(message), "a")
    #expect(late.error?.reason == "COMMAND_TOO_OLD" && late.error?.retryAfter != nil)
    #expect(try await bench.signIn(at: "apple.com", token()).reply.isNewUser == true)
  }

  @Test func `The same message gets tokens of the same session`() async throws {
    let command = try bench.command("a", bench.credential("apple.com", token(email: "ada@example.com")))
    let first = try bench.answer(try await bench.ask(command, id: "a"), "a")
    let again = try bench.answer(try await bench.ask(command, id: "a"), "a")
    #expect(again.claims?.sessionID == first.claims?.sessionID && again.reply.isNewUser == true)
    #expect(again.identity?.email == "ada@example.com" && bench.events("account.created").isEmpty)
  }

  @Test func `Linking may need a recent sign-in, and a link without one gives none for a day`() async throws {
    let user = try await bench.signIn("p")
    bench.clock.advance(by: .seconds(301))
    var rules = Project.RecentLogin()
    rules.linking = true
    bench.use(AccountsBench.methods, rules)
    let refused = try await bench.signIn(at: "apple.com", token(), idToken: user.idToken)
    #expect(refused.error?.code == .credentialTooOld)
    bench.use()
    // Not used up: the same token links.
    let linked = try await bench.signIn(at: "apple.com", token(), idToken: user.idToken)
    #expect(linked.reply.localID == user.reply.localID)
    let early = try #require(try await bench.signIn(at: "apple.com", token(serial: 1)).idToken)
    #expect(try ErrorReply(json: await bench.delete(early).body).error.code == .credentialTooOld)
    bench.clock.advance(by: .seconds(86_400))
    let late = try #require(try await bench.signIn(at: "apple.com", token(serial: 2)).idToken)
    #expect(try await bench.delete(late).type == AccountDeleted.type.text)
  }
}
