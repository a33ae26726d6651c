import CountersignMessages
import CountersignTelemetry
import Projects

/// `/v1/token`: a new ID token for a refresh token, asked for by a form or by JSON in either spelling.
struct TokenCall: Sendable {
  let backend: Backend

  var routes: [Route] { [.token(refresh)] }

  private func refresh(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    guard let grant = try call.body.text("grantType") else { throw .account("MISSING_GRANT_TYPE") }
    guard grant == "refresh_token" else { throw .account("INVALID_GRANT_TYPE") }
    let token = try call.body.secret("refreshToken", else: "INVALID_REFRESH_TOKEN", missing: "MISSING_REFRESH_TOKEN")
    let project = try call.project()
    let exchange = backend.exchange(RefreshSession.self)
    let reply = try await exchange.ask(
      RefreshSession(project: project.id, refreshToken: try exchange.seal(token), replyKey: backend.replyKey))
    let tokens = try exchange.open(reply.tokens)
    var answer = CallAnswer()
    answer.put("access_token", tokens.idToken.reveal())
    answer.put("expires_in", asText: tokens.expiresIn)
    answer.put("token_type", "Bearer")
    answer.put("refresh_token", tokens.refreshToken.reveal())
    answer.put("id_token", tokens.idToken.reveal())
    answer.put("user_id", reply.localID)
    answer.put("project_id", asText: project.number)
    return answer
  }
}
