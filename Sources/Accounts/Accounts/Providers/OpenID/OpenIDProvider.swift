import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// OpenID Connect provider of a project. Its word on an address opens no account that has it, unless the project's file
/// trusts it.
struct OpenIDProvider: PageProvider {
  let configuration: OpenIDConfiguration
  let issuers: OpenIDIssuers

  var id: String { configuration.id }

  private var context: ProviderContext { issuers.context }
  private var issuer: OpenIDIssuer { issuers[configuration.issuer] }

  private func identity(_ claims: ProviderClaims, at now: UnixTime) throws(APIError) -> ProvenIdentity {
    var identity = try claims.identity(of: id, at: now)
    identity.issuer = configuration.issuer
    identity.isEmailBelieved = configuration.trustsEmail && identity.isEmailVerified
    return identity
  }

  // MARK: Tokens from elsewhere

  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let token = credential.idToken, !token.isEmpty else {
      throw .invalidIDPResponse("an ID token of \(id) is needed: id_token is missing")
    }
    let accessToken = credential.accessToken.flatMap { $0.isEmpty ? nil : $0 }
    let claims: ProviderClaims
    if context.isDevelopment, let emulated = EmulatorToken.claims(of: token, in: project) {
      claims = emulated
    } else {
      let clients = configuration.clients.map(\.id)
      claims = try await verified(token, try await issuer.facts(), clients, project, at: now)
      try checkNonce(of: claims, raw: credential.nonce)
      if let accessToken { try AccessTokenHash.check(accessToken, claims) }
    }
    var identity = try identity(claims, at: now)
    identity.oauthIDToken = Secret(token)
    identity.oauthAccessToken = accessToken.map(Secret.init)
    return identity
  }

  /// The provider was given the nonce as it is, or its hash, as the app likes.
  private func checkNonce(of claims: ProviderClaims, raw: String?) throws(APIError) {
    let raw = raw.flatMap { $0.isEmpty ? nil : $0 }
    guard let claimed = claims["nonce"] else {
      guard raw == nil else { throw .wrongNonce }
      return
    }
    guard let raw else { throw .nonceMissing }
    guard claimed.text == raw || claimed.text == ProviderNonce.hash(raw) else { throw .wrongNonce }
  }

  private func verified(
    _ token: String, _ facts: OpenIDIssuer.Facts, _ clients: [String], _ project: Project, at now: UnixTime
  ) async throws(APIError) -> ProviderClaims {
    let tokens = ProviderTokens(
      issuer: configuration.issuer, keys: facts.keys, algorithms: facts.discovery.algorithms)
    let claims = try await tokens.verify(token, of: clients, in: project, at: now)
    if let party = claims.text("azp"), !clients.contains(party) {
      throw .invalidIDPResponse("the ID token was issued to another app: its azp is not one of the project's")
    }
    return claims
  }

  // MARK: Pages

  func pageClient(of project: Project, for app: ProjectApp?) throws(APIError) -> String {
    let clients = configuration.clients
    let fitting = clients.first { app != nil && $0.platform == app?.platform } ?? clients.first { $0.platform == nil }
    guard let client = fitting ?? clients.first else { throw .providerHasNoPage(id) }
    return client.id
  }

  func pageAddress(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, for project: Project
  ) async throws(APIError) -> Secret {
    guard let endpoint = try await issuer.facts().discovery.authorizationEndpoint else {
      throw .providerHasNoPage(id)
    }
    let usesCode = configuration.usesCodeFlow
    let fields = [
      (name: "client_id", value: flow.clientID), (name: "response_type", value: usesCode ? "code" : "id_token"),
      (name: "redirect_uri", value: flow.redirectURI),
      (name: "scope", value: PageQuery.scopes(["openid"], configuration.scopes, request.scopes)),
      (name: "state", value: state.reveal()), (name: "nonce", value: flow.nonce),
    ]
    return PageQuery(provider: id, context).address(
      endpoint, reserved: usesCode ? fields + PageQuery.challenge(flow) : fields,
      configured: configuration.parameters, asked: request.parameters)
  }

  func finish(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    let facts = try await issuer.facts()
    try checkIssuer(credential.issuer, facts.discovery)
    guard let client = configuration.clients.first(where: { $0.id == flow.clientID }) else {
      throw .invalidIDPResponse("\(id) no longer has the client that the sign-in began with")
    }
    let answer = try await answer(flow, credential, client, facts.discovery)
    let claims = try await verified(answer.idToken, facts, [client.id], project, at: now)
    guard claims.text("nonce") == flow.nonce else {
      throw .invalidIDPResponse("the ID token belongs to another sign-in: its nonce is not the one of this")
    }
    if let accessToken = answer.accessToken { try AccessTokenHash.check(accessToken, claims) }
    let profile = try await profile(claims, answer.accessToken, facts.discovery)
    var identity = try identity(profile, at: now)
    identity.oauthIDToken = Secret(answer.idToken)
    identity.oauthAccessToken = answer.accessToken.map(Secret.init)
    identity.oauthExpiresIn = answer.expiresIn
    return identity
  }

  /// Against the mix-up of issuers (RFC 9207, section 2.4).
  private func checkIssuer(_ named: String?, _ discovery: OpenIDDiscovery) throws(APIError) {
    guard let named, !named.isEmpty else {
      guard !discovery.namesItself else {
        throw .invalidIDPResponse("the page's answer does not say whose it is: iss is missing")
      }
      return
    }
    guard named.utf8.elementsEqual(configuration.issuer.utf8) else {
      throw .invalidIDPResponse("the page's answer is another provider's: its iss is not the issuer of \(id)")
    }
  }

  // MARK: Answers of pages

  private struct Answer {
    let idToken: String
    var accessToken: String?
    var expiresIn: Int?
  }

  private func answer(
    _ flow: PageFlow, _ credential: IDPCredential, _ client: OpenIDConfiguration.Client, _ discovery: OpenIDDiscovery
  ) async throws(APIError) -> Answer {
    guard configuration.usesCodeFlow else {
      guard let token = credential.idToken, !token.isEmpty else {
        throw .invalidIDPResponse("the page's answer has no ID token")
      }
      return Answer(idToken: token)
    }
    guard let endpoint = discovery.tokenEndpoint else { throw .providerHasNoPage(id) }
    let secret: CodeExchange.ClientSecret =
      switch client.secret {
      case nil: .none
      case let secret?: discovery.takesSecretsInForms ? .post(secret) : .basic(secret)
      }
    let members = try await CodeExchange(provider: id, issuer: configuration.issuer, context).tokens(
      at: endpoint, code: credential.code ?? "", flow: flow, secret: secret)
    let found = ProviderClaims(members)
    guard let token = found.text("id_token") else {
      throw .invalidIDPResponse("the provider gives no ID token for the code: is openid among its scopes?")
    }
    return Answer(
      idToken: token, accessToken: found.text("access_token"),
      expiresIn: found.time("expires_in").map { Int(clamping: $0.seconds) })
  }

  /// The claims of the ID token, which go before those of the profile. Without the profile where it does not come: who
  /// the user is, the ID token says.
  private func profile(
    _ claims: ProviderClaims, _ accessToken: String?, _ discovery: OpenIDDiscovery
  ) async throws(APIError) -> ProviderClaims {
    guard let accessToken, let endpoint = discovery.userInfoEndpoint else { return claims }
    let questions = ProfileFetch(provider: id, context: context, issuer: configuration.issuer)
    let answer: ProfileFetch.Answer
    do throws(APIError) { answer = try await questions.ask(endpoint, bearer: Secret(accessToken)) } catch {
      return claims
    }
    guard case .found(let members) = answer else { return claims }
    // OpenID Connect Core 1.0, section 5.3.2.
    guard members["sub"]?.text?.utf8.elementsEqual((claims.text("sub") ?? "").utf8) == true else {
      throw .invalidIDPResponse("the profile is another user's than the ID token")
    }
    let whole = claims.completed(by: members)
    return whole.json.utf8.count <= ProvenIdentity.maxUserInfoBytes ? whole : claims
  }
}
