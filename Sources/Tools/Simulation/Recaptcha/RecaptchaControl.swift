import HTTPServer

/// `/control/recaptcha`.
struct RecaptchaControl: Sendable {
  let tokens: RecaptchaTokens

  func answer(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse {
    guard parts.count == 1 else { throw .notFound }
    switch request.method {
    case "POST":
      try tokens.add(request.body)
      return .json(status: 201, "{}")
    case "DELETE":
      tokens.clear()
      return .json(status: 200, "{}")
    default: throw .notAllowed
    }
  }
}
