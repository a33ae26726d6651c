import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Sign in with Apple") struct AppleTests {
  let bench: ProviderBench
  let apple: any IdentityProvider

  init() throws {
    bench = try ProviderBench()
    bench.publish()
    apple = ProviderBench.apple(bench.context())
  }

  private func verify(
    _ token: String, nonce: String? = nil, user: String? = nil
  ) async throws -> ProvenIdentity {
    try await apple.verify(
      IDPCredential("apple.com", token, nonce: nonce, user: user), for: ProviderBench.project, at: bench.now)
  }

  private func refusal(_ token: String, nonce: String? = nil, user: String? = nil) async -> APIError? {
    await apple.refusal(IDPCredential("apple.com", token, nonce: nonce, user: user), at: bench.now)
  }

  @Test func `A token proves the subject, with the address and the profile as text`() async throws {
    let identity = try await verify(bench.appleToken())
    #expect(identity.provider == "apple.com" && identity.subject == "001234.abc.0001")
    #expect(identity.email == "a@example.com" && identity.isEmailVerified && identity.isEmailBelieved)
    #expect(!identity.isRelayAddress && identity.displayName == nil && identity.authenticatedAt == bench.now)
    #expect(identity.rawUserInfo.contains(#""sub":"001234.abc.0001""#))
  }

  static let nonces: [(claim: JSONValue, supported: JSONValue, raw: String?, error: APIError?)] = [
    (.text(ProviderNonce.hash("raw")), true, "raw", nil),
    (.text(ProviderNonce.hash("other")), true, "raw", .wrongNonce),
    ("raw", true, "raw", .wrongNonce),
    (.text(ProviderNonce.hash("raw").uppercased()), true, "raw", .wrongNonce),
    (5, true, "raw", .wrongNonce),
    (.text(ProviderNonce.hash("raw")), true, nil, .nonceMissing),
    (.text(ProviderNonce.hash("raw")), true, "", .nonceMissing),
    (.null, true, "raw", .wrongNonce),
    (.null, "true", "raw", .wrongNonce),
    (.null, false, "raw", nil),
    (.null, .null, "raw", nil),
    (.null, true, nil, nil),
  ]

  @Test(arguments: nonces.indices)
  func `Each line of the nonce table`(_ index: Int) async throws {
    let line = Self.nonces[index]
    let token = try bench.appleToken(["nonce": line.claim, "nonce_supported": line.supported])
    #expect(await refusal(token, nonce: line.raw) == line.error)
  }

  @Test func `The texts of nonce errors are those that clients know`() {
    #expect(APIError.nonceMissing.message == "Nonce is missing in the request.")
    #expect(
      APIError.duplicateCredential.message
        == "Duplicate credential received. Please try again with a new credential.")
    #expect(APIError.wrongNonce.reason == nil && APIError.wrongNonce.code == .missingOrInvalidNonce)
  }

  @Test func `Flags are Booleans or text; relay addresses are known by flag and by domain`() async throws {
    for (verified, isVerified): (JSONValue, Bool) in [(true, true), ("true", true), (false, false), ("false", false)] {
      let identity = try await verify(bench.appleToken(["email_verified": verified]))
      #expect(identity.isEmailVerified == isVerified && identity.isEmailBelieved == isVerified)
    }
    for flag: JSONValue in [true, "true"] {
      #expect(try await verify(bench.appleToken(["is_private_email": flag])).isRelayAddress)
    }
    #expect(try await verify(bench.appleToken(["email": "x@PrivateRelay.appleid.com"])).isRelayAddress)
    let none = try await verify(bench.appleToken(["email": .null]))
    #expect(none.email == nil && !none.isEmailVerified && !none.isEmailBelieved)
  }

  @Test func `The name comes with the request, is shortened, and must be JSON`() async throws {
    let user = #"{"name": {"firstName": "Jo", "lastName": "Do\u0007e"}, "email": "evil@example.com"}"#
    let identity = try await verify(bench.appleToken(), user: user)
    #expect(identity.displayName == "Jo Doe" && identity.givenName == "Jo" && identity.familyName == "Doe")
    #expect(identity.email == "a@example.com")
    let long = String(repeating: "é", count: 500)
    let name = try await verify(bench.appleToken(), user: #"{"name": {"firstName": "\#(long)"}}"#).displayName
    #expect(name?.utf8.count == ProfileChange.maxNameBytes)
    #expect(try await verify(bench.appleToken(), user: "{}").displayName == nil)
    for wrong in ["no JSON", "[]", String(repeating: " ", count: 5000)] {
      #expect(try await verify(bench.appleToken(), user: wrong).displayName == nil)
    }
  }

  @Test func `A token counts once, whatever its signature is written like, and no longer than two days`() async throws {
    let token = try bench.appleToken()
    let spent = try #require(try await verify(token).countsOnce)
    #expect(spent.until == bench.now + .seconds(86_400 + 300))
    #expect(try await verify(token).countsOnce == spent)
    #expect(try await verify(bench.appleToken(["x": 1])).countsOnce?.value != spent.value)
    let eternal = try bench.appleToken(["exp": .integer(.max / 2000)])
    #expect(try await verify(eternal).countsOnce?.until == bench.now + .seconds(2 * 86_400 + 300))
    bench.clocks.advance(by: .seconds(2 * 86_400 + 300))
    #expect(await refusal(eternal)?.message.contains("expired") == true)
  }

  @Test func `Audiences are the bundle IDs of the project's Apple apps, and the clients it names`() async throws {
    #expect(try await verify(bench.appleToken(["aud": "com.example.web"])).subject.isEmpty == false)
    #expect(try await verify(bench.appleToken(["aud": ["x", "com.example.app"]])).subject.isEmpty == false)
    for wrong: JSONValue in ["com.example.other", "", .null, 5, ["x"]] {
      #expect(await refusal(try bench.appleToken(["aud": wrong]))?.message.contains("audience") == true)
    }
  }

  @Test func `Issuers are both spellings of Apple's, and no other`() async throws {
    #expect(try await verify(bench.appleToken(["iss": "https://account.apple.com"])).subject.isEmpty == false)
    for wrong: JSONValue in ["https://appleid.apple.com/", "https://accounts.google.com", .null] {
      #expect(await refusal(try bench.appleToken(["iss": wrong]))?.message.contains("issuer") == true)
    }
  }

  @Test func `Expired, not yet valid and without times are refused, with five minutes for clocks`() async throws {
    let now = bench.seconds
    for (iat, exp, isGood): (JSONValue, JSONValue, Bool) in [
      (.integer(now - 600), .integer(now - 299), true), (.integer(now - 600), .integer(now - 300), false),
      (.integer(now + 300), .integer(now + 600), true), (.integer(now + 301), .integer(now + 600), false),
      (.null, .integer(now + 600), false), (.integer(now), .null, false), (.integer(now), "soon", false),
      (.integer(.max), .integer(.max), false), (.integer(.min), .integer(.min), false),
      (.number("1e400"), .integer(now + 600), false),
    ] {
      #expect((await refusal(try bench.appleToken(["iat": iat, "exp": exp])) == nil) == isGood, "\(iat) \(exp)")
    }
    #expect(
      await refusal(try bench.appleToken(["nbf": .integer(now + 301)]))?.message.contains("not valid yet") == true)
  }

  @Test func `The algorithm is RS256 and the key the issuer's, whatever a token says`() async throws {
    let claims: JSONValue = [
      "iss": "https://appleid.apple.com", "aud": "com.example.app", "sub": "x", "iat": .integer(bench.seconds),
      "exp": .integer(bench.seconds + 60),
    ]
    // The published key as the secret of an HMAC: the classic confusion.
    let secret = Array((bench.key.verifying.rsaComponents?.n ?? "").utf8)
    for (header, reason): (JSONValue, String) in [
      (["alg": "none"], "RS256"), (["alg": "none", "kid": "key-1"], "RS256"),
      (["alg": "HS256", "kid": "key-1"], "RS256"), (["alg": "ES256", "kid": "key-1"], "RS256"),
      (["alg": "RS512", "kid": "key-1"], "RS256"), (["alg": "RS256"], "not the issuer's"),
      (["alg": "RS256", "kid": ""], "not the issuer's"), (["alg": "RS256", "kid": 5], "not the issuer's"),
      (["alg": "RS256", "kid": "key-1"], "signature"),
      (["alg": "RS256", "kid": "key-1", "crit": ["b64"]], "signature"),
    ] {
      let token = ProviderBench.forged(
        header: header, claims, signature: HMACSHA256.authenticate(Array(claims.json().utf8), key: secret))
      #expect(await refusal(token)?.message.contains(reason) == true, "\(header)")
      #expect(await refusal(token)?.code == .invalidIDPResponse)
    }
    let foreign = try SigningKey.generateRSA(id: "key-1")
    #expect(await refusal(try bench.appleToken(key: foreign))?.message.contains("signature") == true)
  }

  @Test func `What is no token is refused, and its error repeats none of it`() async throws {
    let whole = try bench.appleToken()
    let long = try bench.appleToken(["x": .text(String(repeating: "x", count: 16_384))])
    for text in ["secret", "..", "secret.secret.secret", "{}", String(whole.dropLast(8)), long] {
      let error = try #require(await refusal(text))
      #expect(error.code == .invalidIDPResponse && !error.message.contains("secret"))
    }
    #expect(await refusal("")?.message.contains("id_token is missing") == true)
    for subject: JSONValue in [.null, "", .text(String(repeating: "s", count: 256)), 5] {
      #expect(await refusal(try bench.appleToken(["sub": subject]))?.code == .invalidIDPResponse)
    }
  }

  @Test func `Credentials of test suites count in development, for projects that take them`() async throws {
    let json = #"{"sub": "abc", "email": "a@example.com", "email_verified": true}"#
    let unsigned = ProviderBench.forged(header: ["alg": "none", "typ": "JWT"], ["sub": "abc"], signature: [])
    var project = ProviderBench.project
    for (isDevelopment, isOn) in [(false, false), (true, false), (false, true), (true, true)] {
      project.emulatorTokens = isOn
      let apple = ProviderBench.apple(bench.context(isDevelopment: isDevelopment))
      for token in [json, unsigned] {
        let error = await apple.refusal(IDPCredential("apple.com", token, nonce: "raw"), for: project, at: bench.now)
        #expect((error == nil) == (isDevelopment && isOn))
      }
    }
    let identity = try await ProviderBench.apple(bench.context(isDevelopment: true)).verify(
      IDPCredential("apple.com", json), for: project, at: bench.now)
    #expect(identity.subject == "abc" && identity.countsOnce == nil && identity.isEmailBelieved)
    let signed = try await ProviderBench.apple(bench.context(isDevelopment: true)).verify(
      IDPCredential("apple.com", bench.appleToken()), for: project, at: bench.now)
    #expect(signed.countsOnce != nil, "real ones are verified all the same")
  }
}
