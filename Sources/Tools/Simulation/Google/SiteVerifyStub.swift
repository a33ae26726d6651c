import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /recaptcha/api/siteverify`: the classic interface (https://developers.google.com/recaptcha/docs/verify), whose
/// own answers all have status 200.
struct SiteVerifyStub: ProviderStub {
  let provider = Provider.recaptcha
  let settings: SimulatedRecaptchaSettings
  let tokens: RecaptchaTokens

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.method == "POST", request.mediaType == Form.mediaType else { throw Self.error("bad-request") }
    let form = Form(request.body)
    guard let secret = form["secret"] else { throw Self.error("missing-input-secret") }
    guard settings.secret.matches(secret) else { throw Self.error("invalid-input-secret") }
    guard let token = form["response"] else { throw Self.error("missing-input-response") }
    return ProviderCall(recipient: token) { (now) throws(ProviderError) in
      let verdict = tokens.assess(token)
      switch verdict.invalidReason {
      case nil: break
      case "EXPIRED", "DUPE": throw Self.error("timeout-or-duplicate")
      default: throw Self.error("invalid-input-response")
      }
      return .json(
        status: 200,
        """
        {"success":true,"challenge_ts":"\(now.rfc3339)","hostname":\(JSONString.quote(settings.hostname)),\
        "score":\(verdict.score),"action":\(JSONString.quote(verdict.action ?? ""))}
        """)
    }
  }

  private static func error(_ code: String) -> ProviderError { ProviderError(code, status: 200) }

  func failure(_ status: Int) -> ProviderError { .google(status) }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    guard error.status == 200 else { return error.google }
    return .json(status: 200, "{\"success\":false,\"error-codes\":[\"\(error.code)\"]}")
  }
}
