import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

@testable import Accounts

@Suite struct IDTokenTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func claims(_ token: Secret) throws -> [String: Any] {
    let payload = try #require(token.reveal().split(separator: ".").dropFirst().first)
    return try json(try #require(Base64URL.decode(String(payload))))
  }

  private func json(_ bytes: [UInt8]) throws -> [String: Any] {
    var claims: [String: Any] = [:]
    let object = try JSONReader(maxBytes: 65_536).decode([String: Loose].self, from: bytes)
    for (name, value) in object { claims[name] = value.value }
    return claims
  }

  private enum Loose: Decodable {
    case text(String)
    case number(Int64)
    case object([String: Loose])
    case list([Loose])

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let text = try? value.decode(String.self) {
        self = .text(text)
      } else if let number = try? value.decode(Int64.self) {
        self = .number(number)
      } else if let list = try? value.decode([Loose].self) {
        self = .list(list)
      } else {
        self = .object(try value.decode([String: Loose].self))
      }
    }

    var value: Any {
      switch self {
      case .text(let text): text
      case .number(let number): number
      case .object(let object): object.mapValues(\.value)
      case .list(let list): list.map(\.value)
      }
    }
  }

  private func refusal(_ text: String, _ bench: AccountsBench, project: String = AccountsBench.project) -> APIErrorCode?
  {
    do throws(APIError) {
      _ = try bench.parts.idTokens.verify(Secret(text), project: project, at: bench.clock.now())
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `A token has the claims that verifiers expect, and is verified`() async throws {
    let now = bench.clock.now()
    var holder = try await bench.signIn()
    holder.account.displayName = "Ada \"A\" Lovelace"
    holder.account.photoURL = "https://example.com/a.png"
    bench.clock.advance(by: .seconds(100))
    let token = try bench.idToken(of: holder)
    let first = try #require(token.reveal().split(separator: ".").first)
    let header = try json(try #require(Base64URL.decode(String(first))))
    #expect(header["alg"] as? String == "RS256" && header["typ"] as? String == "JWT")
    #expect(header["kid"] as? String == bench.parts.idTokens.keys.reading.entries.first?.id)
    let claims = try claims(token)
    #expect(claims["iss"] as? String == "https://securetoken.google.com/example-project")
    #expect(claims["aud"] as? String == "example-project")
    #expect(claims["sub"] as? String == holder.account.localID)
    #expect(claims["user_id"] as? String == holder.account.localID)
    #expect(claims["auth_time"] as? Int64 == now.seconds)
    #expect(claims["iat"] as? Int64 == now.seconds + 100)
    #expect(claims["exp"] as? Int64 == now.seconds + 3700)
    #expect(claims["name"] as? String == "Ada \"A\" Lovelace")
    #expect(claims["picture"] as? String == "https://example.com/a.png")
    #expect(claims["phone_number"] as? String == AccountsBench.number)
    #expect(claims["provider_id"] == nil)
    let firebase = try #require(claims["firebase"] as? [String: Any])
    #expect(firebase["sign_in_provider"] as? String == "phone")
    #expect((firebase["identities"] as? [String: Any])?["phone"] as? [String] == [AccountsBench.number])
    let verified = try bench.verified(token)
    #expect(verified.localID == holder.account.localID && verified.sessionID == holder.session.id.text)
    #expect(verified.authTime.seconds == now.seconds)
    #expect(try VerifiedIDToken(fields: verified.fields()) == verified)
  }

  @Test func `An anonymous account says so until it has a number`() async throws {
    var holder = try await bench.signIn(number: nil, provider: .anonymous)
    var claims = try claims(
      try bench.idToken(of: holder))
    #expect(claims["provider_id"] as? String == "anonymous" && claims["phone_number"] == nil)
    #expect(((claims["firebase"] as? [String: Any])?["identities"] as? [String: Any])?.isEmpty == true)
    holder.account.phoneNumber = AccountsBench.number
    holder.account.isAnonymous = false
    claims = try self.claims(
      try bench.idToken(of: holder))
    #expect(claims["provider_id"] == nil && claims["phone_number"] as? String == AccountsBench.number)
  }

  @Test func `Tokens expire after an hour, and are of one project`() async throws {
    let holder = try await bench.signIn()
    let token = try bench.idToken(of: holder).reveal()
    #expect(refusal(token, bench) == nil)
    #expect(refusal(token, bench, project: AccountsBench.otherProject) == .invalidIDToken)
    #expect(refusal("", bench) == .missingIDToken)
    bench.clock.advance(by: .seconds(3599))
    #expect(refusal(token, bench) == nil)
    bench.clock.advance(by: .seconds(1))
    #expect(refusal(token, bench) == .tokenExpired)
  }

  private func replacing(_ old: String, by new: String, in text: String) -> String {
    text.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
  }

  private func payload(_ holder: IDTokenCheck.Holder, _ now: UnixTime, iat: Int64 = 0) -> String {
    let iat = now.seconds + iat
    return #"""
      {"iss":"https://securetoken.google.com/example-project","aud":"example-project","sub":"\#(holder.account.localID)",
      "sid":"\#(holder.session.id.text)","iat":\#(iat),"exp":\#(iat + 3600),"auth_time":\#(now.seconds)}
      """#
  }

  private func token(_ header: String, _ payload: String, _ signature: [UInt8] = []) -> String {
    [Array(header.utf8), Array(payload.utf8), signature].map { Base64URL.encode($0) }.joined(separator: ".")
  }

  @Test func `Tokens that others made are refused, whatever they say about their signature`() async throws {
    let holder = try await bench.signIn()
    let now = bench.clock.now()
    let entry = try #require(bench.parts.idTokens.keys.reading.entries.first)
    let claims = payload(holder, now)
    let id = entry.id
    // The claims are right: signed with our key they are taken.
    let right = try JWS.sign(Array(claims.utf8), with: entry.record.key)
    #expect(refusal(right, bench) == nil)
    var texts = [
      token(#"{"alg":"none","kid":"\#(id)"}"#, claims), token(#"{"alg":"none"}"#, claims),
      token(#"{"alg":"None","kid":"\#(id)"}"#, claims, [1]), token(#"{"alg":"RS256","kid":"\#(id)"}"#, claims),
      token(#"{"alg":"RS256","kid":7}"#, claims, [1]), "a.b.c", "...", ".", String(repeating: "x", count: 20_000),
      right + String(repeating: "A", count: 20_000), String(right.dropLast(8)) + "AAAAAAAA",
    ]
    // HS256 with the public key as the secret.
    for secret in [entry.published.certificate, entry.published.n] {
      let signed = token(#"{"alg":"HS256","kid":"\#(id)"}"#, claims)
      let input = String(signed.dropLast())
      let code = HMACSHA256.authenticate(Array(input.utf8), key: Array(secret.utf8))
      texts.append(input + "." + Base64URL.encode(code))
    }
    // Another key under our key's name, and our key under none or another name.
    texts.append(try JWS.sign(Array(claims.utf8), with: SigningKey.generateRSA(id: id)))
    let file = try entry.record.key.pkcs8()
    texts.append(try JWS.sign(Array(claims.utf8), with: SigningKey(file: file)))
    texts.append(try JWS.sign(Array(claims.utf8), with: SigningKey(file: file, id: "other")))
    // Another payload under a right signature.
    let parts = right.split(separator: ".")
    let other = replacing("example-project", by: "other-project", in: claims)
    texts.append("\(parts[0]).\(Base64URL.encode(Array(other.utf8))).\(parts[2])")
    for text in texts { #expect(refusal(text, bench) == .invalidIDToken, "\(text.prefix(60))") }
  }

  @Test func `Claims that no token of ours has are refused under a right signature, too`() async throws {
    let holder = try await bench.signIn()
    let now = bench.clock.now()
    let key = try #require(bench.parts.idTokens.keys.reading.entries.first).record.key
    let other = try await bench.signIn(number: nil)
    let right = payload(holder, now)
    for claims in [
      payload(holder, now, iat: 301), payload(holder, now, iat: -1),
      replacing(holder.session.id.text, by: other.session.id.text, in: right),
      replacing(holder.session.id.text, by: "x", in: right),
      replacing(holder.account.localID, by: String(repeating: "a", count: 129), in: right),
      replacing("securetoken.google.com", by: "session.firebase.google.com", in: right),
      "[]", "{}", "null",
    ] {
      #expect(refusal(try JWS.sign(Array(claims.utf8), with: key), bench) == .invalidIDToken, "\(claims)")
    }
    // Clocks of two hosts may differ by less.
    #expect(refusal(try JWS.sign(Array(payload(holder, now, iat: 299).utf8), with: key), bench) == nil)
  }

  @Test func `A token counts while its account and session do`() async throws {
    let holder = try await bench.signIn()
    func outcome(project: String = AccountsBench.project) async throws -> APIErrorCode? {
      let token = VerifiedIDToken(
        project: project, localID: holder.account.localID, sessionID: holder.session.id.text,
        authTime: holder.session.authTime, issuedAt: holder.session.authTime)
      let check = IDTokenCheck(token: token)
      let rules = bench.parts.rules.sessions
      switch try await bench.look({ set throws(StoreError) in try check.holder(in: set, rules) }) {
      case .success(let found):
        #expect(found.account.localID == holder.account.localID && found.session.id == holder.session.id)
        return nil
      case .failure(let error): return error.code
      }
    }
    #expect(try await outcome() == nil)
    #expect(try await outcome(project: AccountsBench.otherProject) == .userNotFound)
    try await bench.change(holder.account) { account, _ in account.isDisabled = true }
    #expect(try await outcome() == .userDisabled)
    try await bench.change(holder.account) { account, _ in account.isDisabled = false }
    let sessions = bench.parts.sessions
    bench.clock.advance(by: .seconds(10))
    try await bench.change(holder.account) { account, _ in
      account.validSince = UnixTime(seconds: account.createdAt.seconds + 1)
    }
    #expect(try await outcome() == .tokenExpired, "it is from before")
    try await bench.change(holder.account) { account, set throws(StoreError) in
      account.validSince = account.createdAt
      try sessions.endAll(of: &account, in: &set)
      // In the same second a token is not older; its session is gone all the same.
      account.validSince = account.createdAt
    }
    #expect(try await outcome() == .tokenExpired, "its session has ended")
    try await bench.change(holder.account) { account, set throws(StoreError) in
      try sessions.delete(account, in: &set)
    }
    #expect(try await outcome() == .userNotFound)
  }

  @Test func `A session that began on a host whose clock is ahead has tokens that are taken`() async throws {
    let clock = bench.clock
    clock.advance(by: .seconds(3600))
    let holder = try await bench.signIn()
    clock.advance(by: .seconds(-3600))
    let now = clock.now()
    var account = holder.account
    account.validSince = UnixTime(seconds: now.seconds)
    let token = try bench.parts.idTokens.idToken(for: account, holder.session, at: now)
    let verified = try bench.parts.idTokens.verify(token, project: AccountsBench.project, at: now)
    #expect(verified.sessionID == holder.session.id.text && verified.authTime <= verified.issuedAt)
  }

  @Test func `A fresh token is not void where another host's clock is ahead`() async throws {
    var holder = try await bench.signIn()
    let ahead = bench.clock.now() + .seconds(120)
    holder.account.validSince = UnixTime(seconds: ahead.seconds)
    let token = try bench.idToken(of: holder)
    let verified = try bench.verified(token)
    #expect(verified.issuedAt.seconds == ahead.seconds)
  }
}
