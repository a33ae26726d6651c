import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Discovery, token endpoint and userinfo of the simulated OpenID provider, `oidc.example`.
struct OpenIDStub: ProviderStub {
  /// `openIDDiscovery`, `openIDToken` or `openIDUser`: the request that it answers.
  let provider: Provider
  let metadata: OpenIDMetadata
  let openID: IdentityProvider<OpenIDProfile>
  let clients: ClientCheck

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    switch provider {
    case .openIDDiscovery: return try discovery(request)
    case .openIDToken: return try token(request)
    default: return try user(request, now)
    }
  }

  private func discovery(_ request: HTTPServerRequest) throws(ProviderError) -> ProviderCall {
    guard request.method == "GET" else { throw failure(405) }
    return ProviderCall(recipient: "") { _ in
      .json(status: 200, JSONValue.object(metadata.members(issuer: request.openIDIssuer)).json())
    }
  }

  private func token(_ request: HTTPServerRequest) throws(ProviderError) -> ProviderCall {
    guard request.method == "POST", request.mediaType == Form.mediaType else {
      throw ProviderError("invalid_request", "POST with a form is expected")
    }
    let form = Form(request.body)
    guard !form.hasRepeatedField else { throw ProviderError("invalid_request", "a parameter comes twice") }
    let client = try clients.client(request, form, methods: metadata.methods)
    guard form["grant_type"] == "authorization_code" else { throw ProviderError("unsupported_grant_type") }
    return ProviderCall(recipient: client) { (now) throws(ProviderError) in
      let consent = try openID.page.exchange(form, clientID: client, now: now)
      let access = consent.accessToken(openID.users, lifetimeSeconds: OpenIDProfile.tokenSeconds, now: now)
      do throws(JOSEError) {
        let idToken = try consent.idToken(openID.keys, accessToken: access, now: now)
        return Self.answer(access, idToken)
      } catch {
        throw failure(500)
      }
    }
  }

  private static func answer(_ accessToken: String, _ idToken: String) -> HTTPServerResponse {
    var response = HTTPServerResponse.json(
      status: 200,
      """
      {"access_token":\(JSONString.quote(accessToken)),"token_type":"Bearer","expires_in":\(OpenIDProfile.tokenSeconds),\
      "id_token":"\(idToken)"}
      """)
    response.headers.add(name: "Cache-Control", value: "no-store")
    return response
  }

  private func user(_ request: HTTPServerRequest, _ now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.headers["Authorization"] != nil, let grant = request.accessToken.flatMap({ openID.users[$0] }),
      grant.expiresAt > now.seconds
    else { throw ProviderError("invalid_token", "The access token is not valid.", status: 401) }
    return ProviderCall(recipient: grant.profile.clientID) { _ in
      var answer = JSONObjectWriter()
      answer.put("sub", grant.form.subject)
      answer.put("email", grant.form.email)
      grant.profile.put(into: &answer, grant.form)
      return HTTPServerResponse(
        status: 200, headers: ["Content-Type": "application/json"], body: answer.finished())
    }
  }

  func failure(_ status: Int) -> ProviderError { ProviderError("server_error", "Status \(status)", status: status) }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    var response = error.oauth
    if error.status == 401 {
      let scheme = provider == .openIDToken ? "Basic realm=\"oidc\"" : "Bearer error=\"invalid_token\""
      response.headers.add(name: "WWW-Authenticate", value: scheme)
    }
    return response
  }
}
