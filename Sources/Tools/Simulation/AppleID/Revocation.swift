import CountersignEncoding
import CountersignTelemetry

/// A call of `/auth/revoke` that was answered with 200.
struct Revocation: Sendable {
  let clientID: String
  let token: String
  let tokenTypeHint: String?
  /// The authorization code from which the token came; `nil` for a token that was never issued here.
  let code: String?
  let receivedAt: UnixTime

  var json: String {
    """
    {"clientID":\(JSONString.quote(clientID)),"token":\(JSONString.quote(token)),\
    "tokenTypeHint":\(JSONString.quote(tokenTypeHint)),"code":\(JSONString.quote(code)),"isKnown":\(code != nil),\
    "receivedAt":"\(receivedAt.rfc3339)"}
    """
  }
}
