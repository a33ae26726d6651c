import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /recaptcha/api/siteverify`: the classic interface (https://developers.google.com/recaptcha/docs/verify), whose
/// answers
/// all have status 200.
struct SiteVerify: Sendable {
  let settings: SimulatedRecaptchaSettings
  let tokens: RecaptchaTokens
  let gate: ProviderGate

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    guard request.method == "POST", request.mediaType == Form.mediaType else {
      return gate.count(Self.failure("bad-request"), .recaptcha)
    }
    let form = Form(request.body)
    if let problem = problem(form) { return gate.count(Self.failure(problem), .recaptcha) }
    let token = form["response"] ?? ""
    return await gate.answer(.recaptcha, to: token) {
      AssessmentError.status($0).response
    } process: {
      verify(token)
    }
  }

  private func problem(_ form: Form) -> String? {
    guard let secret = form["secret"] else { return "missing-input-secret" }
    guard constantTimeEquals(Array(secret.utf8), Array(settings.secret.reveal().utf8)) else {
      return "invalid-input-secret"
    }
    return form["response"] == nil ? "missing-input-response" : nil
  }

  private func verify(_ token: String) -> HTTPServerResponse {
    let verdict = tokens.assess(token)
    switch verdict.invalidReason {
    case nil: break
    case "EXPIRED", "DUPE": return Self.failure("timeout-or-duplicate")
    default: return Self.failure("invalid-input-response")
    }
    return .json(
      status: 200,
      """
      {"success":true,"challenge_ts":"\(gate.clock.now().rfc3339)","hostname":\(JSONString.quote(settings.hostname)),\
      "score":\(verdict.score),"action":\(JSONString.quote(verdict.action ?? ""))}
      """)
  }

  private static func failure(_ code: String) -> HTTPServerResponse {
    .json(status: 200, "{\"success\":false,\"error-codes\":[\"\(code)\"]}")
  }
}
