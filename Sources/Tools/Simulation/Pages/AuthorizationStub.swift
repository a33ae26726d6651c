import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Page of a provider, which consents at once (RFC 6749, section 4.1.1; OpenID Connect Core, section 3).
struct AuthorizationStub<Profile: PageProfile>: ProviderStub {
  let identity: IdentityProvider<Profile>
  let clients: Set<String>
  let redirectURIs: Set<String>
  let seen: Journal<SeenAuthorization>
  /// Keeps a consent until its code is exchanged, where the page does not.
  var issue: (@Sendable (ProviderPage<Profile>.Consent, UnixTime) -> String)?

  private static var accessTokenSeconds: Int { 3_600 }

  var provider: Provider { Profile.page }

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.method == "GET" else { throw ProviderError("invalid_request", "GET is expected", status: 405) }
    let asked = AuthorizationRequest(fields: request.query)
    guard !asked.hasRepeatedField else { throw ProviderError("invalid_request", "A parameter comes twice.") }
    guard clients.contains(asked.clientID) else { throw ProviderError("invalid_client", "The client is not known.") }
    guard redirectURIs.contains(asked.redirectURI) else {
      throw ProviderError("redirect_uri_mismatch", "The redirect_uri is not registered.")
    }
    return ProviderCall(recipient: asked.clientID) { (now) throws(ProviderError) in
      seen.append(SeenAuthorization(provider: provider, request: asked, receivedAt: now), key: asked["state"] ?? "")
      let mode = Profile.responseModes.contains(asked.responseMode) ? asked.responseMode : "query"
      return PageAnswer.response(
        try answer(asked, issuer: provider == .openIDPage ? request.openIDIssuer : nil, now), mode: mode,
        to: asked.redirectURI)
    }
  }

  private func answer(
    _ asked: AuthorizationRequest, issuer: String?, _ now: UnixTime
  ) throws(ProviderError) -> [(name: String, value: String)] {
    let state = asked["state"].map { [(name: "state", value: $0)] } ?? []
    if let problem = problem(asked) { return Self.refusal(problem.code, problem.text) + state }
    let consent = identity.page.consent(to: asked, issuer: issuer)
    if let error = consent.order.error { return Self.refusal(error, "The user has refused.") + state }
    let isFirst = identity.page.meet(consent)
    let additions = consent.order.token.profile.additions(asked, consent.form(accessToken: nil), isFirst: isFirst)
    return try tokens(consent, now) + state + additions
  }

  private func tokens(
    _ consent: ProviderPage<Profile>.Consent, _ now: UnixTime
  ) throws(ProviderError) -> [(name: String, value: String)] {
    let types = consent.request.responseTypes
    var fields: [(name: String, value: String)] = []
    // Facebook takes a request without a type for one for a code.
    if types.contains("code") || types.isEmpty {
      fields.append(("code", issue?(consent, now) ?? identity.page.issue(consent, now: now)))
    }
    var accessToken: String?
    if types.contains("token") {
      let token = consent.accessToken(identity.users, lifetimeSeconds: Self.accessTokenSeconds, now: now)
      fields += [("access_token", token), ("token_type", "Bearer"), ("expires_in", String(Self.accessTokenSeconds))]
      accessToken = token
    }
    guard types.contains("id_token") else { return fields }
    do throws(JOSEError) {
      fields.append(("id_token", try consent.idToken(identity.keys, accessToken: accessToken, now: now)))
      return fields
    } catch {
      throw failure(500)
    }
  }

  private func problem(_ asked: AuthorizationRequest) -> ProviderError? {
    guard Profile.responseTypes.contains(asked.responseTypes.sorted().joined(separator: " ")) else {
      return ProviderError("unsupported_response_type", "The response_type is not supported.")
    }
    guard Profile.responseModes.contains(asked.responseMode) else {
      return ProviderError("invalid_request", "The response_mode is not supported.")
    }
    if asked.isImplicit {
      guard asked.responseMode != "query" else {
        return ProviderError("invalid_request", "Tokens are not put into a query.")
      }
      guard asked["nonce"] != nil || !asked.responseTypes.contains("id_token") else {
        return ProviderError("invalid_request", "nonce is required.")
      }
    }
    guard asked["code_challenge"] == nil || asked["code_challenge_method"] == "S256" else {
      return ProviderError("invalid_request", "The code_challenge_method must be S256.")
    }
    return Profile.problem(asked)
  }

  private static func refusal(_ code: String, _ text: String) -> [(name: String, value: String)] {
    [("error", code), ("error_description", text)]
  }

  func failure(_ status: Int) -> ProviderError { ProviderError("server_error", "A fault was ordered.", status: status) }

  /// A page for people: where the request cannot be trusted, it leads back nowhere.
  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    PageAnswer.html(
      status: error.status, "<h1>\(HTML.escape(error.code))</h1><p>\(HTML.escape(error.text))</p>")
  }
}
