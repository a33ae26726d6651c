import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `/control/apple/codes` and `/control/revocations`.
struct AppleIDControl: Sendable {
  let grants: GrantStore
  let revocations: Journal<SimulatedRevocation>
  let clientIDs: Set<String>
  let clock: any WallClock

  func answer(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse {
    switch (request.method, parts) {
    case ("POST", ["apple", "codes"]):
      let code = try CodeOrder.read(request.body).code(clients: clientIDs, now: clock.now())
      grants.issue(code)
      return .json(status: 201, code.json)
    case ("GET", ["revocations"]): return try list(request)
    case ("DELETE", ["revocations"]):
      revocations.clear()
      return .json(status: 200, "{}")
    case (_, ["apple", "codes"]), (_, ["revocations"]): throw .notAllowed
    default: throw .notFound
    }
  }

  private func list(_ request: HTTPServerRequest) throws(ControlProblem) -> HTTPServerResponse {
    var found = revocations.elements(of: request.parameter("token"), limit: try ControlAPI.limit(request))
    if let code = request.parameter("code") { found.removeAll { $0.code != code } }
    return .json(status: 200, "[\(found.map(\.json).joined(separator: ",\n"))]\n")
  }
}

/// Call of `/auth/revoke` that was answered with 200.
struct SimulatedRevocation: Sendable {
  let clientID: String
  let token: String
  let tokenTypeHint: String?
  /// Authorization code that the token came from; `nil` for a token that was not issued here.
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
