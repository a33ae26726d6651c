import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct CustomTokenTests {
  private func bench(_ roles: [AdministratorRole] = [.tokens]) async throws -> AccountsBench {
    let bench = try await AccountsBench()
    bench.useCustomTokens()
    try await bench.makeServiceAccount(roles)
    return bench
  }

  private func claims(_ token: Secret?) throws -> [String: JSONValue] {
    let parts = try #require(token).reveal().split(separator: ".")
    let json = try #require(Base64URL.decode(String(parts[1])))
    return try #require(try JSONReader(maxBytes: 65_536).value(of: json).members)
  }

  @Test func `A custom token makes the account of its user, and opens it from then on`() async throws {
    let bench = try await bench()
    let token = try bench.signed(bench.customClaims { $0["claims"] = ["plan": "gold", "level": 3] })
    let first = try await bench.signIn(custom: token)
    #expect(first.reply.isNewUser == true && first.reply.localID == "ada" && first.ways?.provider == "custom")
    let again = try await bench.signIn(custom: token)
    #expect(again.reply.isNewUser == false && again.reply.localID == "ada")
    let claims = try claims(again.idToken)
    #expect(claims["plan"] == "gold" && claims["level"] == 3)
    let refreshed = try self.claims(try await bench.refresh(again.refreshToken))
    #expect(refreshed["plan"] == "gold")
    #expect(try await bench.account(of: first)?.isAnonymous == false)
  }

  @Test func `An account that a custom token has opened is no longer its user's alone`() async throws {
    let bench = try await bench()
    let user = try await bench.signIn(at: "apple.com", FakeProvider.Token("a"))
    #expect(try await bench.account(of: user)?.isSelfMade == true)
    let localID = try #require(user.reply.localID)
    let token = try bench.signed(bench.customClaims { $0["uid"] = .text(localID) })
    #expect(try await bench.signIn(custom: token).reply.localID == user.reply.localID)
    #expect(try await bench.account(of: user)?.isSelfMade == false)
  }

  @Test func `Claims of the account are in tokens, those of the session win, and no name of ours is overwritten`()
    async throws
  {
    let bench = try await bench()
    var user = UserFields(localID: "ada")
    user.customAttributes =
      #"{"plan": "silver", "admin": true, "email": "x@example.com", "sid": "x", "user_id": "eve", "phone_number": "+1"}"#
    #expect(try code(try await bench.create(user)) == nil)
    let token = try bench.signed(bench.customClaims { $0["claims"] = ["plan": "gold", "email_verified": true] })
    let answer = try await bench.signIn(custom: token)
    let claims = try claims(answer.idToken)
    #expect(claims["plan"] == "gold" && claims["admin"] == true && claims["user_id"] == "ada")
    #expect(claims["email"] == nil && claims["email_verified"] == nil && claims["phone_number"] == nil)
    #expect(answer.claims?.sessionID == claims["sid"]?.text)
    user.customAttributes = "{}"
    #expect(try code(try await bench.change(user)) == nil)
    #expect(try self.claims(try await bench.refresh(answer.refreshToken))["admin"] == nil)
  }

  @Test func `A custom token that is wrong in any part signs nobody in`() async throws {
    let bench = try await bench()
    let now = bench.clock.now().seconds
    let changes: [(String, (inout [String: JSONValue]) -> Void)] = [
      ("subject", { $0["sub"] = .text(AccountsBench.email("somebody-else")) }),
      ("audience", { $0["aud"] = .text(AccountsBench.tokenURI) }),
      (
        "issuer",
        {
          $0["iss"] = .text(AccountsBench.email("nobody-here"))
          $0["sub"] = $0["iss"]
        }
      ),
      ("no uid", { $0["uid"] = nil }), ("empty uid", { $0["uid"] = "" }), ("uid of a number", { $0["uid"] = 5 }),
      ("long uid", { $0["uid"] = .text(String(repeating: "u", count: 129)) }),
      (
        "expired",
        {
          $0["iat"] = .integer(now - 100)
          $0["exp"] = .integer(now)
        }
      ),
      ("too long", { $0["exp"] = .integer(now + 3601) }),
      ("claims of an array", { $0["claims"] = [1] }),
      ("reserved claim", { $0["claims"] = ["sub": "eve"] }),
      ("firebase claim", { $0["claims"] = ["firebase": ["sign_in_provider": "password"]] }),
      ("many claims", { $0["claims"] = ["a": .text(String(repeating: "x", count: 1_000))] }),
      ("tenant", { $0["tenant_id"] = "tenant" }),
      (
        "nobody signs",
        {
          $0["iss"] = "firebase-auth-emulator@example.com"
          $0["sub"] = $0["iss"]
        }
      ),
    ]
    for (name, change) in changes {
      let answer = try await bench.signIn(custom: bench.signed(bench.customClaims("ada", change)))
      #expect(answer.error?.code == .invalidCustomToken, "\(name)")
    }
    let foreign = try bench.signed(bench.customClaims(), by: ServiceKeys.other)
    #expect(try await bench.signIn(custom: foreign).error?.code == .invalidCustomToken)
    #expect(try await bench.signIn(custom: Secret("")).error?.code == .missingCustomToken)
    let mismatched = try bench.signed(
      bench.customClaims { claims in
        claims["iss"] = .text(AccountsBench.email(project: AccountsBench.otherProject))
        claims["sub"] = claims["iss"]
      })
    #expect(try await bench.signIn(custom: mismatched).error?.code == .credentialMismatch)
    #expect(try await bench.find("ada") == nil)
  }

  @Test func `Only a service account that is enabled and has the role signs custom tokens`() async throws {
    let bench = try await bench([.writeUsers])
    let token = try bench.signed(bench.customClaims())
    #expect(try await bench.signIn(custom: token).error?.code == .invalidCustomToken)
    try await bench.set(.setRoles) { $0.roles = [.tokens] }
    #expect(try await bench.signIn(custom: token).error == nil)
    try await bench.set(.disable)
    #expect(try await bench.signIn(custom: token).error?.code == .invalidCustomToken)
  }

  @Test func `A custom token opens no account that is disabled, and the method can be off`() async throws {
    let bench = try await bench()
    var user = UserFields(localID: "ada")
    user.disabled = true
    #expect(try code(try await bench.create(user)) == nil)
    let token = try bench.signed(bench.customClaims())
    #expect(try await bench.signIn(custom: token).error?.code == .userDisabled)
    bench.use()
    #expect(try await bench.signIn(custom: token).error?.reason == "METHOD_OFF")
  }

  @Test func `A sign-in that was answered before its token expired, or its method went off, is answered alike`()
    async throws
  {
    let bench = try await bench()
    let token = try bench.signed(bench.customClaims())
    let first = try await bench.signIn(custom: token, id: "again")
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.signIn(custom: token).error?.code == .invalidCustomToken)
    bench.use()
    #expect(try await bench.signIn(custom: token).error?.reason == "METHOD_OFF")
    let again = try await bench.signIn(custom: token, id: "again")
    #expect(again.error == nil && again.claims?.sessionID == first.claims?.sessionID)
    #expect(again.reply.localID == "ada" && again.reply.isNewUser == true)
  }

  @Test func `Unsigned custom tokens count in development alone`() async throws {
    func token(_ bench: AccountsBench) -> Secret {
      let claims = bench.customClaims { claims in
        claims["iss"] = "firebase-auth-emulator@example.com"
        claims["sub"] = claims["iss"]
      }
      let parts = [#"{"alg":"none","typ":"JWT"}"#, JSONValue.object(claims).json()].map {
        Base64URL.encode(Array($0.utf8))
      }
      return Secret(parts.joined(separator: ".") + ".")
    }
    let development = try await AccountsBench { $0.isDevelopment = true }
    development.useCustomTokens()
    #expect(try await development.signIn(custom: token(development)).reply.localID == "ada")
    let bench = try await bench()
    #expect(try await bench.signIn(custom: token(bench)).error?.code == .invalidCustomToken)
  }

  @Test func `A sign-in by a custom token is recent for five minutes`() async throws {
    let bench = try await bench()
    let old = try await bench.signIn(custom: bench.signed(bench.customClaims()))
    bench.clock.advance(by: .seconds(301))
    let refused = try await bench.delete(#require(old.idToken))
    #expect(try code(refused) == .credentialTooOld)
    let recent = try await bench.signIn(custom: bench.signed(bench.customClaims()))
    #expect(try code(try await bench.delete(#require(recent.idToken))) == nil)
  }

  // MARK: Cookies

  @Test func `A session cookie has the claims of the user, a time of its own, and other keys than ID tokens`()
    async throws
  {
    let bench = try await bench()
    let user = try await bench.signIn(custom: bench.signed(bench.customClaims { $0["claims"] = ["plan": "gold"] }))
    #expect(bench.parts.cookies.keys.reading.entries.isEmpty)
    let reply = try await bench.cookie(user.idToken, validFor: 600, id: "c")
    let cookie = try bench.opened(SessionCookieCreated(json: reply.body).cookie, SessionCookieCreated.type, id: "c")
    let claims = try claims(cookie)
    #expect(claims["iss"] == .text("https://session.firebase.google.com/\(AccountsBench.project)"))
    #expect(claims["sub"] == "ada" && claims["plan"] == "gold")
    #expect(try #require(claims["exp"]?.wholeNumber) == #require(claims["iat"]?.wholeNumber) + 600)
    let keys = try KeysPublished(json: try await bench.ask(GetKeys()).body)
    let key = try #require(bench.parts.cookies.keys.reading.entries.first)
    #expect(keys.cookieKeys?.map(\.id) == [key.id] && !keys.keys.map(\.id).contains(key.id))
    _ = try JWS.verify(cookie.reveal(), with: key.record.key.verifying)
    #expect(try await bench.refusal(of: cookie)?.code == .invalidIDToken)
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    let event = try #require(bench.events("keys.published").last)
    #expect(try KeysPublished(json: event.message.body).cookieKeys?.map(\.id) == [key.id])
  }

  @Test func `Session cookies are an act once an hour for each administrator`() async throws {
    let bench = try await bench()
    let token = try await bench.accessToken()
    for callers: [AccountsBench.Bearer] in [[.administrator, .token(token), .administrator], [.administrator]] {
      let user = try await bench.signIn(custom: bench.signed(bench.customClaims()))
      for caller in callers { #expect(try code(try await bench.cookie(user.idToken, by: caller)) == nil) }
      bench.clock.advance(by: .seconds(3600))
    }
    let reply = try await bench.ask(ListActs(project: AccountsBench.project, limit: 200), user: "operator")
    let made = try ActsListed(json: reply.body).acts.filter { $0.act == "session.createCookie" }
    #expect(made.map(\.by).sorted() == [AccountsBench.email(), "operator", "operator"].sorted())
    #expect(Set(made.map(\.actedAt)).count == 2)
  }

  @Test func `A session cookie needs a valid ID token and a duration in range`() async throws {
    let bench = try await bench()
    let user = try await bench.signIn(custom: bench.signed(bench.customClaims()))
    for (duration, expected) in [(299, false), (300, true), (1_209_600, true), (1_209_601, false), (-1, false)] {
      let code = try code(try await bench.cookie(user.idToken, validFor: duration))
      #expect(code == (expected ? nil : .invalidDuration), "\(duration)")
    }
    #expect(try code(try await bench.cookie(Secret("x"))) == .invalidIDToken)
    var change = UserFields(localID: "ada")
    change.disabled = true
    #expect(try code(try await bench.change(change)) == nil)
    #expect(try code(try await bench.cookie(user.idToken)) == .userDisabled)
    bench.clock.advance(by: .seconds(3601))
    #expect(try code(try await bench.cookie(user.idToken)) == .tokenExpired)
  }
}
