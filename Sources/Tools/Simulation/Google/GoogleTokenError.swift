import CountersignEncoding
import HTTPServer

/// Error of Google's token endpoint: `{"error", "error_description"}` (RFC 6749, section 5.2), in Google's words.
struct GoogleTokenError: Error, Sendable, Equatable {
  let name: String
  let description: String
  var status = 400

  /// Error for any unreadable assertion, without a reason, as Google's.
  static let badRequest = GoogleTokenError(name: "invalid_request", description: "Bad Request")
  static let signature = grant("Invalid JWT Signature.")
  static let account = grant("Invalid grant: account not found")
  static let issuedAt = grant("Invalid JWT: iat (issued at) is not set.")
  static let expiresAt = grant("Invalid JWT: exp (expiration time) is not set.")
  static let time = grant(
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
      + "Check your iat and exp values in the JWT claim.")
  static let audience = grant("Invalid JWT: Failed audience check.")
  static let scope = GoogleTokenError(
    name: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")

  static func grantType(_ type: String) -> GoogleTokenError {
    GoogleTokenError(name: "unsupported_grant_type", description: "Invalid grant_type: \(type)")
  }

  private static func grant(_ description: String) -> GoogleTokenError {
    GoogleTokenError(name: "invalid_grant", description: description)
  }

  static func fault(_ status: Int) -> HTTPServerResponse {
    GoogleTokenError(
      name: status >= 500 ? "internal_failure" : "invalid_request", description: "A fault was ordered.", status: status
    ).response
  }

  var response: HTTPServerResponse {
    .json(
      status: status, "{\"error\":\(JSONString.quote(name)),\"error_description\":\(JSONString.quote(description))}")
  }
}
