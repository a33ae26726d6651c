import CountersignEncoding
import CountersignMessages

/// Details of an error that the form of problems tells (RFC 9457), beside its status.
struct ProblemDetails: Sendable, Hashable {
  static let contentType = "application/problem+json"

  private let error: APIError

  init(_ error: APIError) {
    self.error = error
  }

  /// Details of an error of the gateway itself, in the contract's codes.
  init(_ error: ProtocolError) {
    let parts = error.word == nil ? error.message.split(separator: " : ", maxSplits: 1).map(String.init) : []
    let code: APIErrorCode =
      switch error.status {
      case 401: .invalidAccessToken
      case 404: .invalidSessionInfo
      case 500...: .internalError
      default: parts.first.map(APIErrorCode.init(rawValue:)) ?? .invalidArgument
      }
    self.init(APIError(code, parts.last ?? error.message, retryAfter: error.retryAfter))
  }

  var code: String { error.code.rawValue }
  var detail: String { error.message }
  var retryAfter: Int? { error.retryAfter }

  func json(status: Int) -> [UInt8] {
    var answer = CallAnswer()
    answer.put("type", "about:blank")
    answer.put("title", Self.titles[status])
    answer.put("status", number: status)
    answer.put("detail", detail)
    answer.put("code", code)
    answer.put("field", error.field)
    answer.put("reason", error.reason)
    answer.put("attemptsLeft", number: error.attemptsLeft)
    answer.put("retryAfter", number: error.retryAfter)
    return answer.json
  }

  /// Phrases of the statuses (RFC 9110, section 15; RFC 6585), which `about:blank` asks for.
  static let titles = [
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    409: "Conflict", 413: "Content Too Large", 422: "Unprocessable Content", 429: "Too Many Requests",
    500: "Internal Server Error", 503: "Service Unavailable",
  ]
}
