import CountersignEncoding
import HTTPServer

/// Error of Twilio's API: a status and `{code, message, more_info, status}`.
struct TwilioError: Error, Sendable {
  let status: Int
  let code: Int
  let message: String

  static let authenticate = TwilioError(status: 401, code: 20003, message: "Authenticate")
  static let notFound = TwilioError(status: 404, code: 20404, message: "The requested resource was not found")
  static let methodNotAllowed = TwilioError(status: 405, code: 20004, message: "Method not allowed")

  static func refused(_ code: Int, _ message: String) -> TwilioError {
    TwilioError(status: 400, code: code, message: message)
  }

  /// Code of a status: 20003 for 401, 20429 for 429, 20500 for 500.
  static func status(_ status: Int) -> TwilioError {
    switch status {
    case 401: authenticate
    case 404: notFound
    case 429: TwilioError(status: 429, code: 20429, message: "Too Many Requests")
    case 500: TwilioError(status: 500, code: 20500, message: "Internal Server Error")
    case 503: TwilioError(status: 503, code: 20503, message: "Service Unavailable")
    default: TwilioError(status: status, code: 20000 + status, message: "Error \(status)")
    }
  }

  var response: HTTPServerResponse {
    var response = HTTPServerResponse.json(
      status: status,
      """
      {"code":\(code),"message":\(JSONString.quote(message)),\
      "more_info":"https://www.twilio.com/docs/errors/\(code)","status":\(status)}
      """)
    if status == 401 { response.headers.add(name: "WWW-Authenticate", value: "Basic realm=\"Twilio API\"") }
    return response
  }
}
