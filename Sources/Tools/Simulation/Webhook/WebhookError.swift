import CountersignEncoding
import HTTPServer

/// Why a webhook is not taken.
struct WebhookError: Error, Sendable {
  let status: Int
  let code: String
  let message: String

  static func unauthorized(_ message: String) -> WebhookError {
    WebhookError(status: 401, code: "UNAUTHORIZED", message: message)
  }

  static func invalid(_ message: String) -> WebhookError {
    WebhookError(status: 400, code: "INVALID", message: message)
  }

  var response: HTTPServerResponse {
    .json(
      status: status,
      "{\"error\":{\"code\":\(JSONString.quote(code)),\"message\":\(JSONString.quote(message))}}")
  }
}
