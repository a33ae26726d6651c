import CountersignEncoding
import HTTPServer

/// Error of Apple ID: status 400 and `{"error": …}`
/// (https://developer.apple.com/documentation/signinwithapplerestapi/errorresponse).
struct AppleIDError: Error, Sendable, Equatable {
  static let names: Set<String> = [
    "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
    "invalid_scope",
  ]

  let name: String
  var description: String?

  static let invalidClient = AppleIDError(name: "invalid_client")
  static let unsupportedGrantType = AppleIDError(name: "unsupported_grant_type")

  static func invalidRequest(_ description: String) -> AppleIDError {
    AppleIDError(name: "invalid_request", description: description)
  }

  static func invalidGrant(_ description: String) -> AppleIDError {
    AppleIDError(name: "invalid_grant", description: description)
  }

  var response: HTTPServerResponse {
    let more = description.map { ",\"error_description\":\(JSONString.quote($0))" } ?? ""
    return .json(status: 400, "{\"error\":\"\(name)\"\(more)}")
  }

  /// Error for a status that is not documented: a body that a client cannot read.
  static func status(_ status: Int) -> HTTPServerResponse {
    HTTPServerResponse(
      status: status, contentType: "text/html", text: "<html><body><h1>Status \(status)</h1></body></html>\n")
  }
}
