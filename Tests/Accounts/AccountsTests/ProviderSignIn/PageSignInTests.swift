import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Signing in at the page of an OpenID Connect provider", .timeLimit(.minutes(10)))
struct PageSignInTests {
  let bench: AccountsBench
  let issuer: OpenIDBench

  init() async throws { (bench, issuer) = try await AccountsBench.withPages() }

  /// Begins a flow that the issuer answers.
  private func begin(_ claims: [String: JSONValue] = [:]) async throws -> String {
    let id = bench.nextID()
    let page = try bench.page(try await bench.ask(bench.starting(id: id), id: id), id: id)
    try issuer.exchange(for: page, claims)
    return try #require(page["state"])
  }

  @Test func `It makes an account, opens it, links it and signs in again, with the provider's answers`() async throws {
    let first = try await bench.signIn(bench.answered(begin()))
    #expect(first.reply.isNewUser == true && first.ways?.provider == "oidc.example")
    let identity = try #require(first.identity)
    #expect(
      identity.providerID == "oidc.example" && identity.federatedID == "u1" && identity.oauthAccessToken == "access")
    #expect(identity.oauthIDToken != nil && identity.rawUserInfo?.contains("locale") == true)
    let second = try await bench.signIn(bench.answered(begin()))
    #expect(second.reply.localID == first.reply.localID && second.reply.isNewUser == false)
    let user = try await bench.signUp("u")
    let linked = try await bench.signIn(bench.answered(begin(["sub": "u1"])), idToken: user.idToken)
    #expect(linked.reply.refusal == .identityAlreadyLinked && linked.identity?.oauthIDToken != nil)
    let again = try await bench.signIn(bench.answered(begin()), idToken: second.idToken)
    #expect(again.claims?.sessionID == second.claims?.sessionID && again.identity?.oauthAccessToken == "access")
  }

  @Test func `A token from elsewhere signs in to the same account`() async throws {
    let first = try await bench.signIn(bench.answered(begin()))
    let direct = try await bench.signIn(IDPCredential("oidc.example", issuer.token()))
    #expect(direct.reply.localID == first.reply.localID && direct.identity?.oauthIDToken != nil)
  }

  @Test func `An address opens the account that has it where the project trusts the provider with addresses`()
    async throws
  {
    let owner = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: "a@example.com"))
    for claims: [String: JSONValue] in [[:], ["email_verified": false]] {
      if !claims.isEmpty { trust() }
      let answer = try await bench.signIn(bench.answered(begin(claims)))
      #expect(answer.reply.needsConfirmation == true && answer.idToken == nil, "\(claims)")
    }
    for credential in [bench.answered(try await begin()), IDPCredential("oidc.example", try issuer.token())] {
      let joined = try await bench.signIn(credential)
      #expect(joined.reply.localID == owner.reply.localID && joined.reply.isNewUser == false && joined.idToken != nil)
    }
  }

  private func trust() { bench.usePages { $0.providers["oidc.example"]?.openID?.trustsEmail = true } }

  // MARK: What is refused

  @Test func `A state counts with its session, address, project and provider alone, and for an hour`() async throws {
    let state = try await begin()
    let other = try await bench.start(project: AccountsBench.otherProject)
    var changes: [@Sendable (inout IDPCredential) -> Void] = [
      { $0.sessionID = "another session" }, { $0.sessionID = nil }, { $0.redirectURI = "https://evil.example/" },
      { $0.redirectURI = nil }, { $0.state = other }, { $0.state = "x.y.z" }, { $0.providerID = "google.com" },
    ]
    let middle = state.index(state.startIndex, offsetBy: state.count / 2)
    let tampered = state[..<middle] + (state[middle] == "A" ? "B" : "A") + state[state.index(after: middle)...]
    changes.append { $0.state = String(tampered) }
    for (index, change) in changes.enumerated() {
      let answer = try await bench.signIn(bench.answered(state, change))
      #expect(answer.error?.code == .invalidIDPResponse, "\(index)")
    }
    #expect(issuer.forms.isEmpty, "no code leaves")
    bench.clock.advance(by: PageFlow.lifetime)
    #expect(try await bench.signIn(bench.answered(state)).error?.message.contains("too long ago") == true)
    #expect(issuer.forms.isEmpty)
  }

  @Test func `A state counts once, and its code is not sent twice`() async throws {
    let state = try await begin()
    let first = try await bench.signIn(bench.answered(state), id: "a")
    #expect(first.error == nil && issuer.forms.count == 1)
    let replayed = try await bench.signIn(bench.answered(state))
    #expect(replayed.error?.code == .missingOrInvalidNonce && replayed.error?.reason == "DUPLICATE_CREDENTIAL")
    // The command of before is answered alike.
    let again = try await bench.signIn(bench.answered(state), id: "a")
    #expect(again.claims?.sessionID == first.claims?.sessionID && issuer.forms.count == 1)
    // Another code under its ID is another command.
    let other = try await bench.signIn(bench.answered(state) { $0.code = "other" }, id: "a")
    #expect(other.error?.reason == "MESSAGE_ID_REUSED")
  }

  @Test func `A flow whose code is wrong has counted, and a provider that does not answer leaves it`() async throws {
    let state = try await begin()
    issuer.bench.answer(OpenIDBench.tokens, status: 503, [:])
    #expect(try await bench.signIn(bench.answered(state)).error?.reason == "PROVIDER_UNREACHABLE")
    let id = bench.nextID()
    let page = try bench.page(try await bench.ask(bench.starting(id: id), id: id), id: id)
    // The token of another flow: its code was injected.
    try issuer.exchange(for: page)
    #expect(try await bench.signIn(bench.answered(state)).error?.message.contains("nonce") == true)
    let sent = issuer.forms.count
    #expect(try await bench.signIn(bench.answered(state)).error?.reason == "DUPLICATE_CREDENTIAL")
    #expect(issuer.forms.count == sent, "one state makes no more of them")
    #expect(try await bench.signIn(bench.answered(try #require(page["state"]))).error == nil)
  }

  @Test func `A refused link answers with a token that stands for the flow, while the provider is on`() async throws {
    let holder = try await bench.signIn(bench.answered(begin()))
    let user = try await bench.signUp("u")
    let refused = try await bench.signIn(bench.answered(begin()), idToken: user.idToken)
    #expect(refused.reply.refusal == .identityAlreadyLinked && refused.pending != nil)
    let second = try await bench.signIn(bench.answered(begin()), idToken: user.idToken)
    #expect(try await bench.signIn(pending: refused.pending).reply.localID == holder.reply.localID)
    bench.usePages { $0.methods.remove(.provider("oidc.example")) }
    let off = try await bench.signIn(pending: second.pending)
    #expect(off.error?.code == .operationNotAllowed && off.error?.message.contains("not found") == true)
    bench.usePages()
    #expect(try await bench.signIn(pending: second.pending).reply.localID == holder.reply.localID)
  }

  @Test func `A provider that is off or unknown begins and ends nothing`() async throws {
    let state = try await begin()
    let user = try await bench.signUp("u")
    bench.usePages { $0.methods.remove(.provider("oidc.example")) }
    let credentials = [bench.answered(state), IDPCredential("oidc.example", try issuer.token())]
    for credential in credentials + [IDPCredential("oidc.other", try issuer.token())] {
      for idToken in [nil, user.idToken] {
        let error = try await bench.signIn(credential, idToken: idToken).error
        #expect(error?.code == .operationNotAllowed && error?.reason == "METHOD_OFF")
      }
    }
    for provider in ["oidc.example", "oidc.other"] {
      let id = bench.nextID()
      let error = try await bench.error(bench.starting(provider, id: id), id: id)
      #expect(error.code == .operationNotAllowed)
      #expect(error.message == "The identity provider configuration is not found.")
    }
    for provider in ["oidc.", "oidc.A", "unknown.example"] {
      let id = bench.nextID()
      #expect(try await bench.error(bench.starting(provider, id: id), id: id).code == .invalidProviderID)
    }
    #expect(issuer.forms.isEmpty)
  }

  @Test func `A link that comes too late, or of a user who is gone, uses up no code`() async throws {
    let user = try await bench.signIn("p")
    var rules = Project.RecentLogin()
    rules.linking = true
    bench.usePages { $0.recentLogin = rules }
    bench.clock.advance(by: .seconds(301))
    let state = try await begin()
    let late = try await bench.signIn(bench.answered(state), idToken: user.idToken)
    #expect(late.error?.code == .credentialTooOld && issuer.forms.isEmpty)
    bench.usePages()
    #expect(try await bench.signIn(bench.answered(state), idToken: user.idToken).error == nil)
    let gone = try await bench.signUp("g")
    _ = try await bench.delete(try #require(gone.idToken))
    let refused = try await bench.signIn(bench.answered(begin()), idToken: gone.idToken)
    #expect(refused.error?.code == .userNotFound && issuer.forms.count == 1)
  }

  // MARK: Beginning

  @Test func `Beginning again answers with an address again, and counts once`() async throws {
    let (bench, _) = try await AccountsBench.withPages { $0.limits[.pageSignInsPerAddress] = 2 }
    for _ in 0..<3 {
      let reply = try await bench.ask(bench.starting(id: "a", ip: "192.0.2.1"), id: "a")
      #expect(try bench.page(reply, id: "a")["scope"] == "openid profile")
    }
    #expect(try await bench.ask(bench.starting(id: "b", ip: "192.0.2.1"), id: "b").type == IDPSignInStarted.type.text)
    let refusal = try await bench.error(bench.starting(id: "c", ip: "192.0.2.1"), id: "c")
    #expect(refusal.code == .tooManyAttempts && refusal.reason == "PAGE_LIMIT" && refusal.retryAfter != nil)
    #expect(try await bench.ask(bench.starting(id: "d", ip: "203.0.113.1"), id: "d").type == IDPSignInStarted.type.text)
    let other = try bench.starting(id: "a", ip: "192.0.2.1") { $0.scopes = ["other"] }
    #expect(try await bench.error(other, id: "a").reason == "MESSAGE_ID_REUSED")
  }

  @Test func `What is asked of a page has bounds`() async throws {
    let changes: [@Sendable (inout PageRequest) -> Void] = [
      { $0.sessionHash = "raw session" }, { $0.sessionHash = String(repeating: "A", count: 64) },
      { $0.scopes = ["two words"] }, { $0.scopes = [""] }, { $0.scopes = Array(repeating: "a", count: 100) },
      { $0.parameters = ["a b": "c"] }, { $0.parameters = ["a": "line\nbreak"] },
      { $0.parameters = ["a": String(repeating: "x", count: 5000)] },
      // Each has its length, and all together are 60 KB in an address.
      { request in
        let names = (1...20).map { "p\($0)" }
        request.parameters = Dictionary(uniqueKeysWithValues: names.map { ($0, String(repeating: "é", count: 500)) })
      },
    ]
    for change in changes {
      let id = bench.nextID()
      let error = try await bench.error(bench.starting(id: id, change), id: id)
      #expect(error.code == .invalidArgument && error.field == "request")
    }
    for address in ["http://evil.example/", "https://a.example/?b", "https://a.example/#b", "javascript:x", ""] {
      let id = bench.nextID()
      var command = try bench.starting(id: id)
      command.redirectURI = address
      #expect(try await bench.error(command, id: id).field == "redirectURI")
    }
  }

  @Test func `Tokens that are too long for a reply are left out of it`() async throws {
    let id = bench.nextID()
    let page = try bench.page(try await bench.ask(bench.starting(id: id), id: id), id: id)
    let token = try issuer.token([
      "nonce": .text(page["nonce"] ?? ""), "groups": .text(String(repeating: "\"", count: 3000)),
    ])
    issuer.exchange(token, ["access_token": .text(String(repeating: "a", count: 40_000))])
    let answer = try await bench.signIn(bench.answered(try #require(page["state"])))
    #expect(answer.error == nil && answer.idToken != nil)
    #expect(answer.identity?.oauthAccessToken == nil && answer.identity?.oauthIDToken == token)
    #expect(answer.identity?.rawUserInfo?.contains("groups") == true)
    let direct = IDPCredential("oidc.example", try issuer.token(), accessToken: String(repeating: "a", count: 40_000))
    #expect(try await bench.signIn(direct).identity?.federatedID == "u1")
  }

  @Test func `Beginning counts although the provider does not answer`() async throws {
    let (bench, issuer) = try await AccountsBench.withPages { $0.limits[.pageSignInsPerAddress] = 2 }
    issuer.bench.answer(OpenIDBench.document, status: 500, [:])
    for reason in ["PROVIDER_UNREACHABLE", "PROVIDER_UNREACHABLE", "PAGE_LIMIT"] {
      let id = bench.nextID()
      #expect(try await bench.error(bench.starting(id: id, ip: "192.0.2.1"), id: id).reason == reason)
    }
  }

  @Test func `A provider that does not answer costs a time to wait`() async throws {
    issuer.bench.answer(OpenIDBench.document, status: 500, [:])
    let error = try await bench.error(bench.starting(id: "a"), id: "a")
    #expect(error.reason == "PROVIDER_UNREACHABLE" && error.retryAfter == 10)
  }

  @Test func `Providers of the process use the same flow`() async throws {
    let state = try await bench.start("google.com")
    let token = try bench.credential("google.com", FakeProvider.Token("g1")).idToken
    let answer = try await bench.signIn(bench.answered(state) { $0.code = token })
    #expect(answer.identity?.federatedID == "g1" && answer.reply.isNewUser == true)
    bench.use([.phone])
    #expect(try await bench.error(bench.starting("google.com", id: "x"), id: "x").reason == "METHOD_OFF")
  }
}
