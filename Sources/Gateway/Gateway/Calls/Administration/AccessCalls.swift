import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls that give service accounts access tokens, and cookies for the sessions of users.
struct AccessCalls: Sendable {
  let backend: Backend

  /// RFC 7523, section 2.1.
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// Seconds of a cookie's validity, unless the call says.
  private static let usualValidity = 1_209_600

  var routes: [Route] {
    var grant = Route(
      "grantAccess", .post, ["\(HostPrefix.oauth)/token"], access: .open, waitsFor: .administrators, takesForm: true,
      grantAccess)
    grant.errorForm = .oauth
    return [
      grant,
      .administrators(
        "createSessionCookie", .post, ":createSessionCookie", old: "createSessionCookie", createSessionCookie),
    ]
  }

  private func grantAccess(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    guard let grant = try call.body.text("grantType") else { throw .badField("grant_type", expected: "there") }
    guard grant == Self.grantType else {
      throw ProtocolError(status: 400, "grant_type must be \(Self.grantType).", reason: "unsupported_grant_type")
    }
    guard let assertion = try call.body.text("assertion"), assertion.utf8.count <= CallBody.maxSecretBytes else {
      throw .badField("assertion", expected: "the JWT of a service account")
    }
    let exchange = backend.exchange(GrantAccess.self)
    let reply = try await exchange.ask(
      GrantAccess(assertion: try exchange.seal(assertion), replyKey: backend.replyKey))
    var answer = CallAnswer()
    answer.put("access_token", try exchange.open(reply.accessToken).reveal())
    answer.put("expires_in", number: reply.expiresIn)
    answer.put("token_type", "Bearer")
    return answer
  }

  private func createSessionCookie(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(CreateSessionCookie.self)
    let token = try call.body.requiredIDToken()
    var command = CreateSessionCookie(
      project: try call.project().id, idToken: try exchange.seal(token),
      validFor: try call.body.integer("validDuration") ?? Self.usualValidity, replyKey: backend.replyKey)
    command.bearer = try exchange.seal(ifAny: call.bearer)
    let reply = try await exchange.ask(command)
    var answer = CallAnswer()
    answer.put("sessionCookie", try exchange.open(reply.cookie).reveal())
    return answer
  }
}
