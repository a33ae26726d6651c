import CountersignEncoding
import HTTPServer

/// Error of Google's APIs: `{"error": {code, message, status}}`.
struct AssessmentError: Error, Sendable {
  let code: Int
  let status: String
  let message: String
  /// `reason` of the details, such as `API_KEY_INVALID`, if Google gives one.
  var reason: String?

  static func invalid(_ message: String) -> AssessmentError {
    AssessmentError(code: 400, status: "INVALID_ARGUMENT", message: message)
  }

  /// Error for an invalid key, as Google's: 400, with the reason in the details.
  static let wrongAPIKey = AssessmentError(
    code: 400, status: "INVALID_ARGUMENT", message: "API key not valid. Please pass a valid API key.",
    reason: "API_KEY_INVALID")

  static func unauthenticated(_ message: String) -> AssessmentError {
    AssessmentError(code: 401, status: "UNAUTHENTICATED", message: message)
  }

  static func status(_ code: Int) -> AssessmentError {
    let status =
      switch code {
      case 401: "UNAUTHENTICATED"
      case 403: "PERMISSION_DENIED"
      case 404: "NOT_FOUND"
      case 429: "RESOURCE_EXHAUSTED"
      case 503: "UNAVAILABLE"
      case 500...: "INTERNAL"
      default: "INVALID_ARGUMENT"
      }
    return AssessmentError(code: code, status: status, message: "A fault was ordered.")
  }

  var response: HTTPServerResponse {
    let details = reason.map {
      """
      ,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\($0)","domain":"googleapis.com",\
      "metadata":{"service":"recaptchaenterprise.googleapis.com"}}]
      """
    }
    return .json(
      status: code,
      """
      {"error":{"code":\(code),"message":\(JSONString.quote(message)),"status":"\(status)"\(details ?? "")}}
      """)
  }
}
