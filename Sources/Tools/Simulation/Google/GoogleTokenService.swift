import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /token`: Google's token endpoint, for service accounts
/// (https://developers.google.com/identity/protocols/oauth2/service-account).
struct GoogleTokenService: Sendable {
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  private let check: AssertionCheck?
  private let tokens: IssuedTokens
  private let gate: ProviderGate

  init(_ account: Secret?, tokens: IssuedTokens, gate: ProviderGate) throws(SimulationError) {
    check = try account.map { file throws(SimulationError) in try AssertionCheck(file) }
    self.tokens = tokens
    self.gate = gate
  }

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    await gate.answer(.googleToken, to: check?.email ?? "", failure: GoogleTokenError.fault) {
      do throws(GoogleTokenError) { return try token(request) } catch { return error.response }
    }
  }

  private func token(_ request: HTTPServerRequest) throws(GoogleTokenError) -> HTTPServerResponse {
    guard request.method == "POST", request.mediaType == Form.mediaType else { throw .badRequest }
    let form = Form(request.body)
    guard let type = form["grant_type"] else { throw .badRequest }
    guard type == Self.grantType else { throw .grantType(type) }
    guard let assertion = form["assertion"], !form.hasRepeatedField else { throw .badRequest }
    guard let check else { throw .account }
    let now = gate.clock.now()
    guard try check.check(assertion, now: now) else { return .json(status: 200, "{\"id_token\":\"e30.e30.e30\"}") }
    // One second less than the lifetime, as Google's.
    return .json(
      status: 200,
      """
      {"access_token":\(JSONString.quote(tokens.issue(now: now))),"expires_in":\(IssuedTokens.life.components.seconds - 1),\
      "token_type":"Bearer"}
      """)
  }
}
