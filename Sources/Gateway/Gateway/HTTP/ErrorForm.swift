enum ErrorForm: Sendable, Hashable {
  /// That of Identity Toolkit.
  case identityToolkit
  /// That of OAuth 2.0 (RFC 6749, section 5.2).
  case oauth
  /// Problem details (RFC 9457), with the codes of the contract.
  case problem
  /// A page, for people.
  case page

  func json(of error: ProtocolError) -> [UInt8] {
    switch self {
    case .identityToolkit, .page: return error.json
    case .problem: return (error.details ?? ProblemDetails(error)).json(status: error.status)
    case .oauth:
      var answer = CallAnswer()
      answer.put("error", Self.oauthCode(of: error))
      answer.put("error_description", error.message)
      return answer.json
    }
  }

  var contentType: String { self == .problem ? ProblemDetails.contentType : CallAnswer.contentType }

  private static func oauthCode(of error: ProtocolError) -> String {
    switch (error.status, error.reason) {
    case (400, "invalid_grant"), (400, "unsupported_grant_type"): error.reason
    case (..<500, _): "invalid_request"
    case (503, _): "temporarily_unavailable"
    default: "server_error"
    }
  }
}
