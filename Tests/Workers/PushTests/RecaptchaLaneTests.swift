import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine
import TestSupport
import Testing

@testable import Push

@Suite struct RecaptchaLaneTests {
  private func request(ip: String? = "192.0.2.1", phoneNumber: String? = "+14155550123") throws -> AssessmentRequest {
    AssessmentRequest(
      app: Sample.app, token: try #require(RecaptchaToken(Secret("the-token"), app: Sample.app)),
      expectedAction: "a", ip: ip, userAgent: "agent", phoneNumber: phoneNumber)
  }

  private func enterprise(_ http: FakeConnection) throws -> EnterpriseLane {
    EnterpriseLane(
      context: try Sample.recaptcha("r", http), baseURL: "https://recaptcha.test", project: "p-1",
      credential: .apiKey(Secret("the-key")), monotonic: ManualClocks(Sample.now).monotonic)
  }

  private func classic(_ http: FakeConnection) throws -> SiteverifyLane {
    SiteverifyLane(
      context: try Sample.recaptcha("c", http), baseURL: "https://recaptcha.test", secret: Secret("the secret"))
  }

  private func ask(_ lane: any RecaptchaLane) async throws -> Classification {
    await lane.send(Sample.call(try request(), siteKey: "the-site"), Sample.attempt(timeout: .seconds(5)))
  }

  private func read(_ lane: some RecaptchaLane, _ body: String) -> AssessmentAnswer {
    lane.read(HTTPResponse(status: 200, body: Array(body.utf8)))
  }

  @Test func `Enterprise is asked as it wants`() async throws {
    let http = FakeConnection(200, "{}")
    _ = try await ask(enterprise(http))
    let request = try #require(http.requests.first)
    #expect(request.method == "POST")
    #expect(request.url == "https://recaptcha.test/v1/projects/p-1/assessments")
    #expect(request.headers["X-Goog-Api-Key"] == "the-key")
    #expect(request.headers["Content-Type"] == "application/json")
    #expect(!request.isIdempotent)
    #expect(
      String(decoding: request.body ?? [], as: UTF8.self)
        == #"{"event":{"expectedAction":"a","siteKey":"the-site","token":"the-token","userAgent":"agent","#
        + #""userInfo":{"userIds":[{"phoneNumber":"+14155550123"}]},"userIpAddress":"192.0.2.1"}}"#)
  }

  @Test func `Enterprise answers`() async throws {
    let body = """
      {"name": "projects/p-1/assessments/1", "tokenProperties": {"valid": true, "action": "a", "hostname": "",
       "iosBundleId": "com.example.app", "createTime": "2026-07-01T12:00:00Z"}, "riskAnalysis": {"score": 0.7, "reasons": []},
       "phoneFraudAssessment": {"smsTollFraudVerdict": {"risk": 0.2}}}
      """
    let expected = RecaptchaAssessment(
      reference: "projects/p-1/assessments/1", action: "a", score: 0.7, tollFraudRisk: 0.2, bundleID: "com.example.app")
    #expect(try read(enterprise(FakeConnection(200)), body) == .assessed(expected))
  }

  /// Google leaves out what is zero, false or empty.
  @Test func `Omitted fields are zero`() async throws {
    let body =
      #"{"tokenProperties": {"valid": true}, "riskAnalysis": {}, "phoneFraudAssessment": {"smsTollFraudVerdict": {}}}"#
    #expect(
      try read(enterprise(FakeConnection(200)), body) == .assessed(RecaptchaAssessment(score: 0, tollFraudRisk: 0)))
    let invalid = #"{"tokenProperties": {"invalidReason": "DUPE"}}"#
    #expect(try read(enterprise(FakeConnection(200)), invalid) == .assessed(RecaptchaAssessment(invalidReason: "DUPE")))
  }

  @Test(
    arguments: [
      (400, #"{"error": {"code": 400, "status": "INVALID_ARGUMENT"}}"#, "refused PROVIDER_CONFIGURATION"),
      (
        400, #"{"error": {"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}"#,
        "laneDown PROVIDER_CREDENTIALS"
      ),
      (401, #"{"error": {"status": "UNAUTHENTICATED"}}"#, "laneDown PROVIDER_CREDENTIALS"),
      (403, #"{"error": {"status": "PERMISSION_DENIED"}}"#, "laneDown PROVIDER_CREDENTIALS"),
      (404, #"{"error": {"status": "NOT_FOUND"}}"#, "laneDown PROVIDER_CONFIGURATION"),
      (429, #"{"error": {"status": "RESOURCE_EXHAUSTED"}}"#, "retry PROVIDER_THROTTLED"),
      (500, #"{"error": {"status": "INTERNAL"}}"#, "unknown PROVIDER_ERROR"), (503, "<html>", "unknown PROVIDER_ERROR"),
      (200, "<html>", "unknown PROVIDER_ERROR"), (200, "{}", "unknown PROVIDER_ERROR"),
      (200, String(repeating: "[", count: 513), "unknown PROVIDER_ERROR"),
      (302, "", "laneDown PROVIDER_CONFIGURATION"),
    ])
  func `Enterprise fails`(status: Int, body: String, expected: String) async throws {
    #expect(try await ask(enterprise(FakeConnection(status, body))).short == expected)
  }

  @Test func `Without an answer it depends on what left`() async throws {
    for (mayHaveLeft, expected) in [(true, "unknown NO_ANSWER"), (false, "retry NOT_CONNECTED")] {
      let http = FakeConnection { (_) async throws(TransportError) -> HTTPResponse in
        throw TransportError(kind: .other, requestMayHaveLeft: mayHaveLeft, description: "gone")
      }
      for lane in [try enterprise(http) as any RecaptchaLane, try classic(http)] {
        #expect(try await ask(lane).short == expected)
      }
    }
  }

  @Test func `Siteverify is asked as it wants`() async throws {
    let http = FakeConnection(200, #"{"success": true}"#)
    _ = try await ask(classic(http))
    let request = try #require(http.requests.first)
    #expect(request.url == "https://recaptcha.test/recaptcha/api/siteverify")
    #expect(
      String(decoding: request.body ?? [], as: UTF8.self) == "secret=the+secret&response=the-token&remoteip=192.0.2.1")
    #expect(!request.isIdempotent)
  }

  @Test func `Siteverify answers`() async throws {
    let good = #"{"success": true, "hostname": "auth.example.com", "score": 0.4, "action": "a", "challenge_ts": "x"}"#
    #expect(
      try read(classic(FakeConnection(200)), good)
        == .assessed(RecaptchaAssessment(action: "a", score: 0.4, host: "auth.example.com")))
    let android = #"{"success": true, "apk_package_name": "com.example.android"}"#
    #expect(
      try read(classic(FakeConnection(200)), android)
        == .assessed(RecaptchaAssessment(androidPackage: "com.example.android")))
    let bad = #"{"success": false, "error-codes": ["timeout-or-duplicate"]}"#
    #expect(
      try read(classic(FakeConnection(200)), bad)
        == .assessed(RecaptchaAssessment(invalidReason: "timeout-or-duplicate")))
  }

  @Test(
    arguments: [
      (200, #"{"success": false, "error-codes": ["invalid-input-secret"]}"#, "laneDown PROVIDER_CREDENTIALS"),
      (200, "<html>", "unknown PROVIDER_ERROR"), (500, "", "unknown PROVIDER_ERROR"),
      (200, String(repeating: "[", count: 513), "unknown PROVIDER_ERROR"),
      (429, "", "retry PROVIDER_THROTTLED"),
    ])
  func `Siteverify fails`(status: Int, body: String, expected: String) async throws {
    #expect(try await ask(classic(FakeConnection(status, body))).short == expected)
  }

  @Test func `Tokens do not print`() throws {
    let request = try request()
    var dumped = ""
    dump(request, to: &dumped)
    #expect(!"\(request)\(String(reflecting: request))\(dumped)".contains("the-token"))
  }

  @Test(
    arguments: ["", " ", "a b", "é", String(repeating: "x", count: RecaptchaToken.maxLength + 1)])
  func `Malformed tokens are refused`(text: String) {
    #expect(RecaptchaToken(Secret(text), app: Sample.app) == nil)
  }

  @Test func `A token is known by its hash`() throws {
    let token = try #require(RecaptchaToken(Secret("t"), app: "a"))
    #expect(token.hash == RecaptchaToken(Secret("t"), app: "a")?.hash)
    #expect(token.hash != RecaptchaToken(Secret("t"), app: "b")?.hash)
    #expect(token.hash != RecaptchaToken(Secret("u"), app: "a")?.hash)
  }
}
