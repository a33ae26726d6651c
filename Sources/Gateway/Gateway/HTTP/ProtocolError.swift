import CountersignEncoding

/// Error of a call, in the protocol's words (section 5 of the reference).
///
/// Clients map ``message`` up to the first colon. It never repeats input.
struct ProtocolError: Error, Sendable, Hashable {
  let status: Int
  /// Code, or code, `" : "` and text. Of general errors a sentence.
  let message: String
  /// Canonical word of general errors: `INVALID_ARGUMENT`. Errors about accounts have none.
  let word: String?
  /// Reason in the list of errors: `invalid`, `parseError`.
  let reason: String
  /// Seconds to wait before trying again, for the header `Retry-After`.
  let retryAfter: Int?
  /// Methods that the path has, for the header `Allow`.
  let allow: [String]
  /// Details in the form of problems. `nil` for those of the error itself.
  let details: ProblemDetails?

  init(
    status: Int, _ message: String, word: String? = nil, reason: String = "invalid", retryAfter: Int? = nil,
    allow: [String] = []
  ) {
    self.status = status
    self.message = message
    self.word = word
    self.reason = reason
    self.retryAfter = retryAfter
    self.allow = allow
    details = nil
  }

  init(status: Int, _ details: ProblemDetails) {
    self.status = status
    self.details = details
    (message, retryAfter) = ("\(details.code) : \(details.detail)", details.retryAfter)
    (word, reason, allow) = (nil, "invalid", [])
  }

  var json: [UInt8] {
    var entry = CallAnswer()
    entry.put("message", message)
    entry.put("domain", "global")
    entry.put("reason", reason)
    var error = CallAnswer()
    error.put("code", number: status)
    error.put("message", message)
    error.put("errors", objects: [entry])
    error.put("status", word)
    var answer = CallAnswer()
    answer.put("error", object: error)
    return answer.json
  }
}

// MARK: - About accounts

extension ProtocolError {
  /// Error about an account, a number, a token: 400, whatever it is.
  static func account(_ code: String, _ text: String? = nil, retryAfter: Int? = nil) -> ProtocolError {
    ProtocolError(status: 400, text.map { "\(code) : \($0)" } ?? code, retryAfter: retryAfter)
  }
}

// MARK: - General errors

extension ProtocolError {
  /// The text names the field, never the value.
  static func badBody(_ text: String) -> ProtocolError {
    ProtocolError(
      status: 400, "Invalid JSON payload received. \(text)", word: "INVALID_ARGUMENT", reason: "parseError")
  }

  static func badField(_ name: String, expected: String) -> ProtocolError {
    badBody("Invalid value at '\(name)': must be \(expected).")
  }

  static let bodyTooLarge = bodyTooLarge(.usual)

  static func bodyTooLarge(_ limits: BodyLimits) -> ProtocolError {
    ProtocolError(
      status: 413, "Request payload size exceeds the limit: \(limits.bytes) bytes.",
      word: "INVALID_ARGUMENT", reason: "uploadTooLarge")
  }

  static func malformed(_ problem: String) -> ProtocolError {
    ProtocolError(
      status: 400, "The request cannot be read: \(problem).", word: "INVALID_ARGUMENT", reason: "badRequest")
  }

  static let keyInvalid = ProtocolError(
    status: 400, "API key not valid. Please pass a valid API key.", word: "INVALID_ARGUMENT", reason: "keyInvalid")

  static let keyMissing = ProtocolError(
    status: 403, "The request is missing a valid API key.", word: "PERMISSION_DENIED", reason: "forbidden")

  static let unauthenticated = ProtocolError(
    status: 401,
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
    word: "UNAUTHENTICATED", reason: "authError")

  static let insufficientPermission = account(
    "INSUFFICIENT_PERMISSION", "Only authenticated requests can specify target_project_id.")

  /// A call of administrators names a project that there is not, or none of several.
  static let projectUnknown = account("PROJECT_NOT_FOUND", "Name a project, by the path or by targetProjectId.")

  static let notFound = ProtocolError(
    status: 404, "The requested URL was not found on this server.", word: "NOT_FOUND", reason: "notFound")

  /// A call of apps. SDKs know the code as a way to sign in that the project has switched off.
  static let notOffered = ProtocolError(
    status: 501, "OPERATION_NOT_ALLOWED : This call is not offered.", word: "NOT_IMPLEMENTED",
    reason: "notImplemented")

  /// A call of administrators, whose libraries show code and text.
  static let administrationNotOffered = ProtocolError(
    status: 501, "NOT_IMPLEMENTED : This call of administrators is not offered.", word: "NOT_IMPLEMENTED",
    reason: "notImplemented")

  /// A part of a call of administrators that is offered.
  static func notOffered(part: String) -> ProtocolError {
    ProtocolError(
      status: 501, "NOT_IMPLEMENTED : \(part) is not offered.", word: "NOT_IMPLEMENTED", reason: "notImplemented")
  }

  static func wrongMethod(_ allow: [String]) -> ProtocolError {
    ProtocolError(
      status: 405, "The method is not allowed for this URL.", word: "METHOD_NOT_ALLOWED",
      reason: "httpMethodNotAllowed", allow: allow)
  }

  /// The call cannot be carried out now: the broker or the service behind it is away, or too many calls wait.
  static let unavailable = ProtocolError(
    status: 503, "The service is currently unavailable.", word: "UNAVAILABLE", reason: "backendError", retryAfter: 1)

  static let internalError = ProtocolError(
    status: 500, "Internal error encountered.", word: "INTERNAL", reason: "internalError")

  static func appBlocked(_ text: String) -> ProtocolError {
    ProtocolError(status: 403, text, word: "PERMISSION_DENIED", reason: "ipRefererBlocked")
  }

  static let notLocal = ProtocolError(
    status: 403,
    "This call is answered only to clients on this machine: use a loopback host, and no proxy.",
    word: "PERMISSION_DENIED", reason: "forbidden")
}
