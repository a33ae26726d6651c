import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct GoogleTokenTests {
  private struct Given: Decodable {
    let accessToken: String?
    let idToken: String?
    let expiresIn: Int?
    let tokenType: String?
  }

  private struct Refusal: Decodable {
    let error: String
    let errorDescription: String
  }

  private static let question = #"{"event":{"token":"high.1","siteKey":"app-key"}}"#

  private func assertion(
    _ bench: Bench, _ changes: [String: TestKeys.Claim?] = [:], key: String = TestKeys.rsa,
    id: String? = TestKeys.rsaID
  ) throws -> String {
    let now = bench.clock.now()
    let claims: [(String, TestKeys.Claim)] = [
      ("iss", .text(TestKeys.account)), ("scope", .text("https://www.googleapis.com/auth/cloud-platform")),
      ("aud", .text("https://oauth2.googleapis.com/token")), ("iat", .time(now)), ("exp", .time(now + .seconds(3600))),
    ]
    return try TestKeys.token(
      claims.compactMap { claim in (changes[claim.0] ?? claim.1).map { (claim.0, $0) } }, key: key, id: id)
  }

  private func ask(
    _ bench: Bench, _ assertion: String?, grantType: String? = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  ) async throws -> Answer {
    try await bench.send(
      "POST", "/token", headers: ["Content-Type": "application/x-www-form-urlencoded"],
      body: bench.encode(["grant_type": grantType, "assertion": assertion]))
  }

  private func token(_ bench: Bench) async throws -> String {
    let given: Given = try await ask(bench, try assertion(bench)).decoded()
    #expect(given.expiresIn == 3599)
    #expect(given.tokenType == "Bearer")
    return try #require(given.accessToken)
  }

  private func assess(_ bench: Bench, bearer token: String) async throws -> Int {
    try await bench.send(
      "POST", "/v1/projects/example-project/assessments",
      headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"], body: Array(Self.question.utf8)
    ).status
  }

  @Test func `A token opens what the API key opens`() async throws {
    try await Bench.run { bench in
      let token = try await token(bench)
      #expect(try await assess(bench, bearer: token) == 200)
      bench.clock.advance(by: .seconds(3599))
      #expect(try await assess(bench, bearer: token) == 200)
      bench.clock.advance(by: .seconds(1))
      #expect(try await assess(bench, bearer: token) == 401)
    }
  }

  @Test func `Other tokens open nothing`() async throws {
    try await Bench.run { bench async throws in
      for other in ["", "ya29.c.made-up", "simulated-recaptcha-api-key"] {
        #expect(try await assess(bench, bearer: other) == 401)
      }
      #expect(try await bench.assess(Self.question, key: nil).status == 401)
    }
  }

  @Test func `Tokens are counted and revoked`() async throws {
    try await Bench.run { bench in
      let tokens = [try await token(bench), try await token(bench)]
      #expect(tokens[0] != tokens[1])
      #expect(try await bench.control("GET", "/google/tokens").text == #"{"given":2}"#)
      #expect(try await bench.control("DELETE", "/google/tokens").text == #"{"revoked":2}"#)
      for token in tokens { #expect(try await assess(bench, bearer: token) == 401) }
      #expect(try await assess(bench, bearer: try await token(bench)) == 200)
      #expect(try await bench.control("DELETE", "/google/tokens").text == #"{"revoked":1}"#)
      #expect(try await bench.control("POST", "/google/tokens").status == 405)
      #expect(try await bench.control("GET", "/google").status == 404)
    }
  }

  /// Whose assertion, and what is wrong with it, in the order in which Google looks.
  @Test func `Assertions are checked as Google does`() async throws {
    try await Bench.run { bench in
      let now = bench.clock.now()
      let window = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
      let cases: [(changes: [String: TestKeys.Claim?], error: String, description: String)] = [
        (["iss": .text("other@example.com")], "invalid_grant", "Invalid grant: account not found"),
        (["iss": nil], "invalid_grant", "Invalid grant: account not found"),
        (["iat": nil], "invalid_grant", "Invalid JWT: iat"),
        (["exp": nil], "invalid_grant", "Invalid JWT: exp"),
        (["exp": .time(now + .seconds(3601))], "invalid_grant", window),
        (["iat": .time(now - .seconds(7200)), "exp": .time(now - .seconds(3600))], "invalid_grant", window),
        (["iat": .time(now + .seconds(301)), "exp": .time(now + .seconds(3900))], "invalid_grant", window),
        (["exp": .time(now)], "invalid_grant", window),
        (["scope": .text(" "), "aud": .text("x")], "invalid_scope", "Invalid OAuth scope"),
        (
          ["aud": .text("https://oauth2.googleapis.com/token/")], "invalid_grant", "Invalid JWT: Failed audience check."
        ),
        (["aud": nil], "invalid_grant", "Invalid JWT: Failed audience check."),
      ]
      for wrong in cases {
        let answer = try await ask(bench, try assertion(bench, wrong.changes))
        let refusal: Refusal = try answer.decoded()
        #expect(answer.status == 400)
        #expect(refusal.error == wrong.error, "\(wrong)")
        #expect(refusal.errorDescription.hasPrefix(wrong.description), "\(refusal.errorDescription)")
      }
      let early = ["iat": TestKeys.Claim.time(now + .seconds(300)), "exp": .time(now + .seconds(3900))]
      #expect(try await ask(bench, try assertion(bench, early)).status == 200)
    }
  }

  @Test func `Signatures are checked`() async throws {
    try await Bench.run { bench in
      let good = try assertion(bench)
      let parts = good.split(separator: ".")
      let unsigned = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + ".\(parts[1])."
      for (wrong, error) in [
        (try assertion(bench, key: TestKeys.first), "Invalid JWT Signature."),
        (try assertion(bench, id: "another"), "Invalid JWT Signature."),
        (String(good.dropLast(4)) + "AAAA", "Invalid JWT Signature."), (unsigned, "Invalid JWT Signature."),
        ("nonsense", "Bad Request"), ("a.b", "Bad Request"),
      ] {
        #expect(try await ask(bench, wrong).decoded(Refusal.self).errorDescription == error, "\(wrong)")
      }
    }
  }

  @Test func `Requests are checked`() async throws {
    try await Bench.run { bench in
      let good = try assertion(bench)
      #expect(try await ask(bench, nil).decoded(Refusal.self).error == "invalid_request")
      #expect(try await ask(bench, good, grantType: nil).decoded(Refusal.self).error == "invalid_request")
      let other = try await ask(bench, good, grantType: "refresh_token").decoded(Refusal.self)
      #expect(other.error == "unsupported_grant_type")
      #expect(try await bench.send("GET", "/token").status == 400)
    }
  }

  /// Google gives an ID token for a scope that it does not know.
  @Test func `An unknown scope brings no access token`() async throws {
    try await Bench.run { bench in
      let answer = try await ask(bench, try assertion(bench, ["scope": .text("https://example.com/scope")]))
      let given: Given = try answer.decoded()
      #expect(answer.status == 200)
      #expect(given.accessToken == nil)
      #expect(given.idToken != nil)
    }
  }

  @Test func `It fails on demand`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"provider":"google-token","fault":503,"retryAfterSeconds":3}"#)
      let answer = try await ask(bench, try assertion(bench))
      #expect(answer.status == 503)
      #expect(answer.response.headers["Retry-After"] == "3")
      #expect(try answer.decoded(Refusal.self).error == "internal_failure")
      #expect(try await ask(bench, try assertion(bench)).status == 200)
    }
  }
}
