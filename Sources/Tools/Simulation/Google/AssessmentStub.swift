import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /v1/projects/{project}/assessments`: reCAPTCHA Enterprise
/// (https://cloud.google.com/recaptcha/docs/reference/rest/v1/projects.assessments).
struct AssessmentStub: ProviderStub {
  private struct Body: Decodable { let event: Event }

  private struct Event: Decodable {
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

  private static let lowRisk = 0.05

  let provider = Provider.recaptcha
  let settings: SimulatedRecaptchaSettings
  let tokens: RecaptchaTokens
  let accessTokens: IssuedTokens

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let parts = request.path.split(separator: "/")
    guard parts.count == 4, parts[1] == "projects", parts[3] == "assessments", request.method == "POST" else {
      throw ProviderError("NOT_FOUND", "Method not found.", status: 404)
    }
    try checkCaller(request, now)
    guard parts[2] == settings.project else {
      throw ProviderError("PERMISSION_DENIED", "The project is another one's.", status: 403)
    }
    guard request.mediaType == "application/json" else { throw Self.invalid("The body must be application/json.") }
    let event: Event
    do { event = try JSONReader.requests.decode(Body.self, from: request.body).event } catch {
      throw Self.invalid("Invalid JSON payload received.")
    }
    guard event.siteKey?.isEmpty == false else { throw Self.invalid("The site key is missing.") }
    return ProviderCall(recipient: event.token ?? "") { now in .json(status: 200, text(assess(event), event, now)) }
  }

  private func checkCaller(_ request: HTTPServerRequest, _ now: UnixTime) throws(ProviderError) {
    let expected = "Expected OAuth 2 access token, login cookie or other valid authentication credential."
    if let field = request.headers["Authorization"] {
      let words = field.split(separator: " ")
      guard words.count == 2, words[0].lowercased() == "bearer", accessTokens.isValid(String(words[1]), now: now) else {
        throw ProviderError(
          "UNAUTHENTICATED", "Request had invalid authentication credentials. \(expected)", status: 401)
      }
      return
    }
    guard let given = request.headers["X-Goog-Api-Key"] ?? request.parameter("key") else {
      throw ProviderError(
        "UNAUTHENTICATED", "Request is missing required authentication credential. \(expected)", status: 401)
    }
    // Google answers 400, with the reason in the details.
    guard settings.apiKey.matches(given) else {
      throw ProviderError(
        "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", detail: "API_KEY_INVALID")
    }
  }

  private func assess(_ event: Event) -> RecaptchaVerdict {
    guard let token = event.token, !token.isEmpty else { return RecaptchaVerdict(invalidReason: "MISSING", score: 0) }
    let verdict = tokens.assess(token)
    guard settings.siteKeys[event.siteKey ?? ""] == nil, verdict.invalidReason == nil else { return verdict }
    return RecaptchaVerdict(invalidReason: "KEY_MISMATCH", score: 0)
  }

  private func text(_ verdict: RecaptchaVerdict, _ event: Event, _ now: UnixTime) -> String {
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
      "createTime":"\(now.rfc3339)"}\(isValid ? fraud ?? "" : "")}
      """
  }

  private static func invalid(_ text: String) -> ProviderError { ProviderError("INVALID_ARGUMENT", text) }

  func failure(_ status: Int) -> ProviderError { .google(status) }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse { error.google }
}

/// Errors of Google's APIs: `{"error": {code, message, status}}`.
extension ProviderError {
  static func google(_ status: Int) -> ProviderError {
    let code =
      switch status {
      case 401: "UNAUTHENTICATED"
      case 403: "PERMISSION_DENIED"
      case 404: "NOT_FOUND"
      case 429: "RESOURCE_EXHAUSTED"
      case 503: "UNAVAILABLE"
      case 500...: "INTERNAL"
      default: "INVALID_ARGUMENT"
      }
    return ProviderError(code, "A fault was ordered.", status: status)
  }

  var google: HTTPServerResponse {
    let details = detail.map {
      """
      ,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\($0)","domain":"googleapis.com",\
      "metadata":{"service":"recaptchaenterprise.googleapis.com"}}]
      """
    }
    return .json(
      status: status,
      """
      {"error":{"code":\(status),"message":\(JSONString.quote(text)),"status":"\(code)"\(details ?? "")}}
      """)
  }
}
