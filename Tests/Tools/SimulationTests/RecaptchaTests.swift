import CountersignTelemetry
import HTTPClient
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RecaptchaTests {
  private struct Assessment: Decodable {
    struct TokenProperties: Decodable {
      let valid: Bool
      let invalidReason: String
      let action: String
      let iosBundleId: String
      let createTime: String
    }
    struct RiskAnalysis: Decodable {
      let score: Double
      let reasons: [String]
    }
    struct PhoneFraudAssessment: Decodable {
      struct Verdict: Decodable { let risk: Double }
      let smsTollFraudVerdict: Verdict
    }
    let name: String
    let tokenProperties: TokenProperties
    let riskAnalysis: RiskAnalysis
    let phoneFraudAssessment: PhoneFraudAssessment?
  }

  private struct Verified: Decodable {
    let success: Bool
    let score: Double?
    let action: String?
    let hostname: String?
    let challengeTs: String?
    let errorCodes: [String]?

    private enum CodingKeys: String, CodingKey {
      case success, score, action, hostname, challengeTs
      case errorCodes = "error-codes"
    }
  }

  private func assess(_ bench: Bench, _ token: String, _ more: String = "", site: String = "app-key") async throws
    -> Assessment
  {
    let answer = try await bench.assess(
      #"{"event":{"token":"\#(token)","siteKey":"\#(site)","expectedAction":"verify_phone"\#(more)}}"#)
    #expect(answer.status == 200)
    return try answer.decoded()
  }

  @Test func `Token says what it is`() async throws {
    try await Bench.run { bench in
      let high = try await assess(bench, "high.verify_phone.1@com.example.app")
      #expect(high.tokenProperties.valid)
      #expect(high.riskAnalysis.score == 0.9)
      #expect(high.tokenProperties.action == "verify_phone")
      #expect(high.tokenProperties.iosBundleId == "com.example.app")
      #expect(high.name.hasPrefix("projects/example-project/assessments/"))
      let low = try await assess(bench, "low..1")
      #expect(low.riskAnalysis.score == 0.1)
      #expect(low.riskAnalysis.reasons == ["AUTOMATION"])
      // Nothing is taken from the question.
      #expect(low.tokenProperties.action == "")
      #expect(low.tokenProperties.iosBundleId == "")
      let other = try await assess(bench, "high.login.1")
      #expect(other.tokenProperties.action == "login")
      #expect(try await assess(bench, "expired.1").tokenProperties.invalidReason == "EXPIRED")
      #expect(try await assess(bench, "nonsense").tokenProperties.invalidReason == "MALFORMED")
      #expect(try await assess(bench, "").tokenProperties.invalidReason == "MISSING")
      #expect(try await assess(bench, "high.2", site: "no-key").tokenProperties.invalidReason == "KEY_MISMATCH")
    }
  }

  @Test func `Token is assessed once`() async throws {
    try await Bench.run { bench in
      #expect(try await assess(bench, "high.verify_phone.1").tokenProperties.valid)
      let again = try await assess(bench, "high.verify_phone.1")
      #expect(!again.tokenProperties.valid)
      #expect(again.tokenProperties.invalidReason == "DUPE")
      #expect(try await bench.siteVerify(["response": "high.verify_phone.1"]).decoded(Verified.self).success == false)
    }
  }

  @Test func `Toll fraud is judged with a phone number`() async throws {
    try await Bench.run { bench in
      let without = try await assess(bench, "high.1")
      #expect(without.phoneFraudAssessment == nil)
      let number = #","userInfo":{"userIds":[{"phoneNumber":"+14155550123"}]}"#
      #expect(try await assess(bench, "high.2", number).phoneFraudAssessment == nil)
      #expect(try await assess(bench, "fraud.3").phoneFraudAssessment == nil)
      #expect(try await assess(bench, "fraud.4", number).phoneFraudAssessment?.smsTollFraudVerdict.risk == 0.95)
    }
    try await Bench.run(phoneFraud: true) { bench async throws in
      #expect(try await assess(bench, "high.1").phoneFraudAssessment == nil)
      let number = #","userInfo":{"userIds":[{"phoneNumber":"+14155550123"}]}"#
      #expect(try await assess(bench, "high.2", number).phoneFraudAssessment?.smsTollFraudVerdict.risk == 0.05)
    }
  }

  @Test func `Verdict is ordered`() async throws {
    try await Bench.run { bench in
      let order = #"{"token":"t1","score":0.4,"action":"login","bundleID":"com.example.other","tollFraudRisk":0.7}"#
      #expect(try await bench.control("POST", "/recaptcha", order).status == 201)
      _ = try await bench.control("POST", "/recaptcha", #"{"token":"t2","invalidReason":"BROWSER_ERROR"}"#)
      let number = #","userInfo":{"userIds":[{"phoneNumber":"+14155550123"}]}"#
      let first = try await assess(bench, "t1", number)
      #expect(first.riskAnalysis.score == 0.4)
      #expect(first.tokenProperties.action == "login")
      #expect(first.tokenProperties.iosBundleId == "com.example.other")
      #expect(first.phoneFraudAssessment?.smsTollFraudVerdict.risk == 0.7)
      #expect(try await assess(bench, "t2").tokenProperties.invalidReason == "BROWSER_ERROR")
      for wrong in [#"{"token":""}"#, #"{"token":"x","score":2}"#, #"{"token":"x","invalidReason":"BAD"}"#, "{}"] {
        #expect(try await bench.control("POST", "/recaptcha", wrong).status == 400)
      }
    }
  }

  @Test func `Request is checked`() async throws {
    try await Bench.run { bench in
      let empty = try await bench.assess("{}")
      #expect(empty.status == 400)
      #expect(try await bench.assess(#"{"event":{"token":"high"}}"#).status == 400)
      #expect(try await bench.assess("{}", key: nil).status == 401)
      let wrongKey = try await bench.assess("{}", key: "wrong")
      #expect(wrongKey.status == 400)
      #expect(wrongKey.text.contains(#""reason":"API_KEY_INVALID""#))
      #expect(try await bench.assess("{}", project: "other").status == 403)
      #expect(try await bench.assess("{}", project: "x/y").status == 404)
    }
  }

  @Test func `Classic interface answers`() async throws {
    try await Bench.run { bench in
      let high: Verified = try await bench.siteVerify(["response": "high.login.1"]).decoded()
      #expect(high.success)
      #expect(high.score == 0.9)
      #expect(high.action == "login")
      #expect(high.hostname == "example.com")
      #expect(high.challengeTs == "2026-07-01T12:00:00Z")
      for (fields, code) in [
        (["response": "high.login.1"], "timeout-or-duplicate"), (["response": "expired.1"], "timeout-or-duplicate"),
        (["response": "nonsense"], "invalid-input-response"), (["response": nil], "missing-input-response"),
        (["response": "high.2", "secret": "wrong"], "invalid-input-secret"),
        (["response": "high.2", "secret": nil], "missing-input-secret"),
      ] as [([String: String?], String)] {
        let answer: Verified = try await bench.siteVerify(fields).decoded()
        #expect(!answer.success)
        #expect(answer.errorCodes == [code])
      }
    }
  }

  @Test func `Fault has googles form`() async throws {
    struct Problem: Decodable {
      struct Detail: Decodable { let status: String }
      let error: Detail
    }
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"provider":"recaptcha","fault":429,"retryAfterSeconds":3}"#)
      let answer = try await bench.assess(#"{"event":{"token":"high.1","siteKey":"app-key"}}"#)
      #expect(answer.status == 429)
      #expect(answer.response.headers["Retry-After"] == "3")
      #expect(try answer.decoded(Problem.self).error.status == "RESOURCE_EXHAUSTED")
      #expect(try await assess(bench, "high.1").tokenProperties.valid)
    }
  }
}

extension Bench {
  func assess(
    _ body: String, key: String? = "simulated-recaptcha-api-key", project: String = "example-project"
  ) async throws -> Answer {
    let query = key.map { "?key=\($0)" } ?? ""
    return try await send(
      "POST", "/v1/projects/\(project)/assessments\(query)", headers: ["Content-Type": "application/json"],
      body: Array(body.utf8))
  }

  func siteVerify(_ changes: [String: String?]) async throws -> Answer {
    let fields = ["secret": "simulated-recaptcha-secret"].merging(changes) { $1 } as [String: String?]
    return try await send(
      "POST", "/recaptcha/api/siteverify", headers: ["Content-Type": "application/x-www-form-urlencoded"],
      body: encode(fields))
  }
}
