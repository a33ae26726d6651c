import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Page of a provider with fixed addresses, and the exchange of its codes.
struct ProviderPage: Sendable {
  private static let maxAccessTokenBytes = 4096

  let authorizeURL: String
  let tokenURL: String
  private let query: PageQuery
  private let exchange: CodeExchange

  init(of provider: String, authorizeURL: String, tokenURL: String, _ context: ProviderContext) {
    self.authorizeURL = authorizeURL
    self.tokenURL = tokenURL
    query = PageQuery(provider: provider, context)
    exchange = CodeExchange(provider: provider, context)
  }

  /// Address of the page, for a code.
  ///
  /// - Parameters:
  ///   - scopes: those beside which the app asks for further ones.
  ///   - further: parameters of the provider.
  func address(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, scopes: [String],
    _ further: [(name: String, value: String)] = []
  ) -> Secret {
    let reserved = [
      (name: "client_id", value: flow.clientID), (name: "redirect_uri", value: flow.redirectURI),
      (name: "response_type", value: "code"), (name: "state", value: state.reveal()),
      (name: "scope", value: PageQuery.scopes(scopes, request.scopes)), (name: "nonce", value: flow.nonce),
    ]
    return query.address(
      authorizeURL, reserved: reserved + PageQuery.challenge(flow) + further, asked: request.parameters)
  }

  /// Tokens of the code that the page has brought.
  ///
  /// - Throws: as ``CodeExchange/tokens(at:code:flow:secret:)``.
  func tokens(
    _ credential: IDPCredential, of flow: PageFlow, secret: Secret
  ) async throws(APIError) -> PageTokens {
    let members = try await exchange.tokens(
      at: tokenURL, code: credential.code ?? "", flow: flow, secret: .post(secret))
    return PageTokens(ProviderClaims(members))
  }

  /// Tokens of a code.
  struct PageTokens: Sendable {
    let idToken: String?
    let accessToken: String?
    let refreshToken: Secret?
    /// Seconds of the access token's validity.
    let expiresIn: Int?

    fileprivate init(_ members: ProviderClaims) {
      idToken = members.text("id_token")
      let access = members.text("access_token")
      accessToken = access.flatMap { $0.utf8.count <= ProviderPage.maxAccessTokenBytes ? $0 : nil }
      refreshToken = members.text("refresh_token").map(Secret.init)
      expiresIn = members["expires_in"].flatMap { $0.wholeNumber ?? $0.text.flatMap { Int($0) } }
    }
  }
}

extension ProviderTokens {
  /// Verifies the ID token that a code was exchanged for: that of the flow's client, with the flow's nonce as it is.
  ///
  /// - Throws: as ``verify(_:of:in:at:)``, or `MISSING_OR_INVALID_NONCE`.
  func verify(
    _ token: String?, of flow: PageFlow, in project: Project, at now: UnixTime
  ) async throws(APIError) -> ProviderClaims {
    guard let token else { throw .invalidIDPResponse("the provider gives no ID token for the code") }
    let claims = try await verify(token, of: [flow.clientID], in: project, at: now)
    guard claims.isEmulated || claims.text("nonce") == flow.nonce else { throw .wrongNonce }
    return claims
  }
}

extension ProvenIdentity {
  mutating func take(_ tokens: ProviderPage.PageTokens) {
    oauthIDToken = tokens.idToken.map(Secret.init)
    oauthAccessToken = tokens.accessToken.map(Secret.init)
    oauthExpiresIn = tokens.accessToken == nil ? nil : tokens.expiresIn
  }
}
