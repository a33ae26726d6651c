import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /v1/projects/{project}/assessments`: reCAPTCHA Enterprise
/// (https://cloud.google.com/recaptcha/docs/reference/rest/v1/projects.assessments).
struct Assessments: Sendable {
  private struct Request: Decodable {
    struct Event: Decodable {
      struct UserInfo: Decodable {
        struct UserID: Decodable { let phoneNumber: String? }
        let userIds: [UserID]?
      }
      let token: String?
      let siteKey: String?
      let expectedAction: String?
      let userInfo: UserInfo?

      var hasPhoneNumber: Bool { userInfo?.userIds?.contains { $0.phoneNumber != nil } ?? false }
    }
    let event: Event
  }

  /// Default risk of toll fraud of a token.
  private static let lowRisk = 0.05

  let settings: SimulatedRecaptchaSettings
  let tokens: RecaptchaTokens
  let accessTokens: IssuedTokens
  let gate: ProviderGate

  func reply(_ request: HTTPServerRequest, _ parts: [Substring]) async -> HTTPServerReply {
    do throws(AssessmentError) {
      try check(request, parts)
      let event = try read(request)
      return await gate.answer(.recaptcha, to: event.token ?? "") {
        AssessmentError.status($0).response
      } process: {
        assess(event)
      }
    } catch {
      return gate.count(error.response, .recaptcha)
    }
  }

  private func check(_ request: HTTPServerRequest, _ parts: [Substring]) throws(AssessmentError) {
    guard parts.count == 4, parts[1] == "projects", parts[3] == "assessments", request.method == "POST" else {
      throw AssessmentError(code: 404, status: "NOT_FOUND", message: "Method not found.")
    }
    try checkCaller(request)
    guard parts[2] == settings.project else {
      throw AssessmentError(code: 403, status: "PERMISSION_DENIED", message: "The project is another one's.")
    }
  }

  /// Checks the access token of the service account, or the API key.
  private func checkCaller(_ request: HTTPServerRequest) throws(AssessmentError) {
    if let field = request.headers["Authorization"] {
      let words = field.split(separator: " ")
      guard words.count == 2, words[0].lowercased() == "bearer",
        accessTokens.isValid(String(words[1]), now: gate.clock.now())
      else { throw .unauthenticated("Request had invalid authentication credentials. \(Self.expected)") }
      return
    }
    guard let given = request.headers["X-Goog-Api-Key"] ?? request.parameter("key") else {
      throw .unauthenticated("Request is missing required authentication credential. \(Self.expected)")
    }
    guard constantTimeEquals(Array(given.utf8), Array(settings.apiKey.reveal().utf8)) else {
      throw .wrongAPIKey
    }
  }

  private static let expected =
    "Expected OAuth 2 access token, login cookie or other valid authentication credential."

  private func read(_ request: HTTPServerRequest) throws(AssessmentError) -> Request.Event {
    guard request.mediaType == "application/json" else { throw .invalid("The body must be application/json.") }
    let event: Request.Event
    do { event = try JSONReader.requests.decode(Request.self, from: request.body).event } catch {
      throw .invalid("Invalid JSON payload received.")
    }
    guard let siteKey = event.siteKey, !siteKey.isEmpty else { throw .invalid("The site key is missing.") }
    return event
  }

  private func assess(_ event: Request.Event) -> HTTPServerResponse {
    let token = event.token ?? ""
    var verdict = token.isEmpty ? RecaptchaVerdict(invalidReason: "MISSING", score: 0) : tokens.assess(token)
    let owner = settings.siteKeys[event.siteKey ?? ""]
    if owner == nil, verdict.invalidReason == nil {
      verdict = RecaptchaVerdict(invalidReason: "KEY_MISMATCH", score: 0)
    }
    return .json(status: 200, text(verdict, event))
  }

  private func text(_ verdict: RecaptchaVerdict, _ event: Request.Event) -> String {
    let isValid = verdict.invalidReason == nil
    let name = "projects/\(settings.project)/assessments/\(Hexadecimal.encode(SecureRandom.bytes(8)))"
    let action = isValid ? verdict.action ?? "" : ""
    let isAsked = event.hasPhoneNumber && (settings.assessesPhoneFraud || verdict.tollFraudRisk != nil)
    let risk = isAsked ? verdict.tollFraudRisk ?? Self.lowRisk : nil
    let fraud = risk.map { ",\"phoneFraudAssessment\":{\"smsTollFraudVerdict\":{\"risk\":\($0),\"reasons\":[]}}" }
    return """
      {"name":\(JSONString.quote(name)),"event":{"siteKey":\(JSONString.quote(event.siteKey)),\
      "expectedAction":\(JSONString.quote(event.expectedAction ?? ""))},\
      "riskAnalysis":{"score":\(verdict.score),"reasons":[\(isValid && verdict.score < 0.5 ? "\"AUTOMATION\"" : "")]},\
      "tokenProperties":{"valid":\(isValid),\
      "invalidReason":"\(verdict.invalidReason ?? "INVALID_REASON_UNSPECIFIED")","hostname":"","androidPackageName":"",\
      "iosBundleId":\(JSONString.quote(isValid ? verdict.bundleID ?? "" : "")),"action":\(JSONString.quote(action)),\
      "createTime":"\(gate.clock.now().rfc3339)"}\(isValid ? fraud ?? "" : "")}
      """
  }
}
