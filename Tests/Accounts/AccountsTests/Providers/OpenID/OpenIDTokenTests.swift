import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("OpenID Connect: tokens from elsewhere") struct OpenIDTokenTests {
  let issuer: OpenIDBench

  init() throws { issuer = try OpenIDBench() }

  private func refusal(
    _ token: String, nonce: String? = nil, access: String? = nil, _ provider: OpenIDProvider? = nil
  ) async -> APIError? {
    await (provider ?? issuer.provider()).refusal(
      IDPCredential("oidc.example", token, accessToken: access, nonce: nonce), at: issuer.bench.now)
  }

  @Test func `A token proves subject and profile by either algorithm, and its address is not believed`() async throws {
    for key in [issuer.bench.key, issuer.ecKey] {
      let credential = IDPCredential("oidc.example", try issuer.token(key: key), accessToken: "access")
      let identity = try await issuer.provider().verify(
        credential, for: ProviderBench.project, at: issuer.bench.now)
      #expect(identity.provider == "oidc.example" && identity.subject == "u1" && identity.displayName == "A User")
      #expect(identity.isEmailVerified && !identity.isEmailBelieved && identity.countsOnce == nil)
      #expect(identity.oauthIDToken?.reveal() == credential.idToken && identity.oauthAccessToken?.reveal() == "access")
      #expect(identity.rawUserInfo.contains(#""sub":"u1""#))
    }
    #expect(issuer.bench.requests == [OpenIDBench.document, OpenIDBench.keys])
  }

  @Test func `A verified address is believed of a provider that the project trusts with addresses`() async throws {
    for (claims, isBelieved): ([String: JSONValue], Bool) in [
      ([:], true), (["email_verified": "true"], true), (["email_verified": false], false),
      (["email_verified": .null], false), (["email": .null], false), (["email": "no address"], false),
    ] {
      let identity = try await issuer.provider { $0.trustsEmail = true }.verify(
        IDPCredential("oidc.example", try issuer.token(claims)), for: ProviderBench.project, at: issuer.bench.now)
      #expect(identity.isEmailBelieved == isBelieved, "\(claims)")
    }
  }

  @Test func `A nonce in the token needs the app's, as it is or hashed`() async throws {
    for (claim, raw, error): (JSONValue, String?, APIError?) in [
      (.null, nil, nil), (.null, "", nil), ("raw", "raw", nil), (.text(ProviderNonce.hash("raw")), "raw", nil),
      ("raw", nil, .nonceMissing), ("raw", "", .nonceMissing), ("raw", "other", .wrongNonce),
      (.null, "raw", .wrongNonce), (7, "7", .wrongNonce),
    ] {
      #expect(await refusal(try issuer.token(["nonce": claim]), nonce: raw) == error, "\(claim) \(raw ?? "-")")
    }
  }

  @Test func `Issuer, audience and authorized party are those of the provider`() async throws {
    for (claims, part): ([String: JSONValue], String?) in [
      (["aud": ["other", "client-ios"], "azp": "client a"], nil), (["aud": "other"], "audience"),
      (["azp": "other"], "azp"), (["iss": "https://id.example.com/"], "issuer"), (["iss": .null], "issuer"),
      (["iss": "https://evil.example"], "issuer"), (["exp": .integer(issuer.bench.seconds - 301)], "expired"),
      (["iat": .integer(issuer.bench.seconds + 301)], "not valid yet"), (["exp": .null], "no times"),
      (["sub": .null], "no user"),
    ] {
      let error = await refusal(try issuer.token(claims))
      #expect(part == nil ? error == nil : error?.code == .invalidIDPResponse, "\(claims)")
      if let part { #expect(error?.message.contains(part) == true, "\(claims)") }
    }
  }

  @Test func `No token chooses its algorithm`() async throws {
    let claims = try #require(JSONReader.members(try issuer.token()))
    let mac = { (text: [UInt8]) in HMACSHA256.authenticate(text, key: Array("public key".utf8)) }
    for header: JSONValue in [
      ["alg": "none"], ["alg": "none", "kid": "key-1"], ["alg": "HS256", "kid": "key-1"],
      ["alg": "ES256", "kid": "key-1"], ["alg": "RS256", "kid": "ec"], ["alg": "RS512", "kid": "key-1"], ["kid": "ec"],
    ] {
      let token = ProviderBench.forged(header: header, .object(claims), signature: mac([1]))
      #expect(await refusal(token)?.code == .invalidIDPResponse, "\(header)")
    }
    // One that the issuer does not name, although its keys would do.
    issuer.publish(["id_token_signing_alg_values_supported": ["RS256", "HS256"]])
    let other = OpenIDProvider(
      configuration: OpenIDBench.configuration, issuers: OpenIDIssuers(issuer.issuers.context))
    #expect(await refusal(try issuer.token(key: issuer.ecKey), other)?.message.contains("algorithm") == true)
    #expect(await refusal(try issuer.token(), other) == nil)
  }

  @Test func `An unknown key is fetched once in ten seconds, and a key without a name is the only one`() async throws {
    #expect(await refusal(try issuer.token()) == nil)
    let next = try SigningKey.generateRSA(id: "key-2")
    issuer.publishKeys([next])
    for _ in 0..<5 {
      #expect(await refusal(try issuer.token(key: next))?.code == .invalidIDPResponse, "within the pause")
    }
    issuer.bench.clocks.advance(by: .seconds(10))
    #expect(await refusal(try issuer.token(key: next)) == nil)
    #expect(issuer.bench.requests.filter { $0 == OpenIDBench.keys }.count == 2)
    let nameless = try SigningKey(file: next.pkcs8())
    #expect(await refusal(try issuer.token(key: nameless))?.code == .invalidIDPResponse)
    var jwk = ProviderBench.jwk(next).members ?? [:]
    jwk["kid"] = nil
    issuer.bench.answer(OpenIDBench.keys, ["keys": [.object(jwk)]])
    issuer.bench.clocks.advance(by: .seconds(10))
    #expect(await refusal(try issuer.token(key: nameless)) == nil)
  }

  @Test func `An access token beside it is the one that it names`() async throws {
    let token = try issuer.token(["at_hash": .text(AccessTokenHash.make("access"))])
    #expect(await refusal(token, access: "access") == nil)
    #expect(await refusal(token) == nil)
    #expect(await refusal(token, access: "other")?.code == .invalidIDPResponse)
    // OpenID Connect Core 1.0, appendix A.3.
    #expect(AccessTokenHash.make("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y") == "77QmUPtjPfzWtF2AnpK9RQ")
  }

  @Test func `Unsigned tokens are taken in development, of projects that say so`() async throws {
    var project = ProviderBench.project
    project.emulatorTokens = true
    let unsigned = #"{"sub": "u1", "email": "a@example.com"}"#
    let credential = IDPCredential("oidc.example", unsigned)
    #expect(await issuer.provider().refusal(credential, for: project, at: issuer.bench.now) != nil)
    let development = try OpenIDBench(isDevelopment: true)
    let provider = development.provider()
    #expect(await provider.refusal(credential, at: development.bench.now) != nil)
    let identity = try await provider.verify(credential, for: project, at: development.bench.now)
    #expect(identity.subject == "u1" && identity.email == "a@example.com")
  }
}

extension JSONReader {
  /// Claims of a token.
  fileprivate static func members(_ token: String) -> [String: JSONValue]? { ProviderTokens.part(token, 1) }
}
