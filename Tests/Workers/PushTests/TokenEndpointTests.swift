import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import JobEngine
import TestSupport
import Testing

@testable import Push

@Suite struct TokenEndpointTests {
  private func ask(_ http: FakeConnection) async throws -> AccessTokens.Answer {
    let endpoint = TokenEndpoint(
      account: try Sample.account(), url: "https://tokens.test/token", table: try Sample.googleOAuthTable(),
      http: http, clocks: ManualClocks(Sample.now).clocks)
    return await endpoint.token(number: 7)
  }

  private func failure(_ status: Int, _ body: String, retryAfter: String? = nil) async throws -> Classification? {
    let headers = retryAfter.map { [(name: "Retry-After", value: $0)] } ?? []
    guard case .failure(let failure) = try await ask(FakeConnection(status, body, headers: headers)) else { return nil }
    return failure.classification
  }

  @Test func `It is asked as Google wants`() async throws {
    let http = FakeConnection(500)
    _ = try await ask(http)
    let request = try #require(http.requests.first)
    #expect(http.requests.count == 1)
    #expect(request.method == "POST")
    #expect(request.url == "https://tokens.test/token")
    #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(request.isIdempotent)
    let fields = FormEncoding.decode(request.body ?? [])
    #expect(fields.map(\.name) == ["grant_type", "assertion"])
    #expect(fields.first?.value == "urn:ietf:params:oauth:grant-type:jwt-bearer")
    // The audience is the account's own, wherever the endpoint is reached.
    let assertion = try JWS.verify(try #require(fields.last?.value), with: try Sample.account().key.verifying)
    #expect(
      String(decoding: assertion.payload, as: UTF8.self).contains(#""aud":"https://oauth2.googleapis.com/token""#))
  }

  @Test func `A token lives from the request on`() async throws {
    let body = #"{"access_token": "ya29.c.abc", "expires_in": 3599, "token_type": "Bearer"}"#
    let token = try await ask(FakeConnection(200, body)).get()
    #expect(token.text.reveal() == "ya29.c.abc")
    #expect(token.number == 7)
    #expect(token.expiresAt == Sample.moment + .seconds(3599))
  }

  @Test func `No life is believed that Google does not give`() async throws {
    let body = #"{"access_token": "t", "expires_in": 1e300, "token_type": "bearer"}"#
    #expect(try await ask(FakeConnection(200, body)).get().expiresAt == Sample.moment + .seconds(12 * 3600))
  }

  @Test(
    arguments: [
      "", "<html>", "{}", #"{"id_token": "x.y.z"}"#, #"{"access_token": "", "expires_in": 9, "token_type": "Bearer"}"#,
      #"{"access_token": "a b", "expires_in": 9, "token_type": "Bearer"}"#,
      #"{"access_token": "a\nb", "expires_in": 9, "token_type": "Bearer"}"#,
      #"{"access_token": "a", "expires_in": 0, "token_type": "Bearer"}"#,
      #"{"access_token": "a", "token_type": "Bearer"}"#,
      #"{"access_token": "a", "expires_in": 9, "token_type": "mac"}"#,
      String(repeating: "[", count: 513),
    ])
  func `Answers without a token are configuration errors`(body: String) async throws {
    #expect(try await failure(200, body)?.short == "laneDown PROVIDER_CONFIGURATION")
  }

  @Test(
    arguments: [
      ("Invalid JWT Signature.", "laneDown PROVIDER_CREDENTIALS", "invalid_grant.signature"),
      ("Invalid grant: account not found", "laneDown PROVIDER_CREDENTIALS", "invalid_grant.account"),
      (
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.",
        "laneDown PROVIDER_CREDENTIALS", "invalid_grant.time"
      ),
      ("Invalid JWT: Failed audience check.", "laneDown PROVIDER_CONFIGURATION", "invalid_grant.audience"),
      ("Something new", "laneDown PROVIDER_CREDENTIALS", "invalid_grant"),
    ])
  func `Googles errors about assertions are distinguished`(description: String, expected: String, code: String)
    async throws
  {
    let body = #"{"error": "invalid_grant", "error_description": "\#(description)"}"#
    let classification = try await failure(400, body)
    #expect(classification?.short == expected)
    #expect(classification?.reason?.providerCode == code)
    #expect(classification?.reason?.detail.contains(description) == false)
  }

  @Test(
    arguments: [
      (400, #"{"error": "invalid_request", "error_description": "Bad Request"}"#, "laneDown PROVIDER_CONFIGURATION"),
      (401, #"{"error": "invalid_client"}"#, "laneDown PROVIDER_CREDENTIALS"),
      (400, #"{"error": "a_new_word"}"#, "laneDown PROVIDER_CREDENTIALS"),
      (400, #"{"error": "internal_failure"}"#, "retry TOKEN_UNAVAILABLE"),
      (400, #"{"error": {"code": 400}}"#, "laneDown PROVIDER_CREDENTIALS"),
      (403, "", "laneDown PROVIDER_CREDENTIALS"), (404, "<html>", "laneDown PROVIDER_CONFIGURATION"),
      (302, "", "laneDown PROVIDER_CONFIGURATION"), (429, "", "retry PROVIDER_THROTTLED"),
      (500, "", "retry TOKEN_UNAVAILABLE"), (503, #"{"error": "temporarily_unavailable"}"#, "retry TOKEN_UNAVAILABLE"),
      (204, "", "retry PROVIDER_ERROR"),
    ])
  func `Failures have their class`(status: Int, body: String, expected: String) async throws {
    #expect(try await failure(status, body)?.short == expected)
  }

  @Test(arguments: [429, 500, 503])
  func `Retry after is obeyed`(status: Int) async throws {
    guard case .retry(_, let after) = try await failure(status, "", retryAfter: "9") else {
      return #expect(Bool(false), "is no retry")
    }
    #expect(after == .seconds(9))
  }

  /// Whether the request left or not: it did nothing to the job.
  @Test(arguments: [true, false])
  func `Without an answer it is asked again`(mayHaveLeft: Bool) async throws {
    let http = FakeConnection { (_) async throws(TransportError) -> HTTPResponse in
      throw TransportError(kind: .other, requestMayHaveLeft: mayHaveLeft, description: "gone")
    }
    guard case .failure(let failure) = try await ask(http) else { return #expect(Bool(false), "was taken for a token") }
    #expect(failure.classification.short == "retry TOKEN_UNAVAILABLE")
  }
}
