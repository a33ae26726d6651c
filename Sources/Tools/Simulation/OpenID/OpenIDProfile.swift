import CountersignEncoding

/// Claims of a user at the simulated OpenID provider (OpenID Connect Core, section 5.1).
struct OpenIDProfile: PageProfile {
  static let fields: Set<String> = ["clientID", "azp", "emailVerified", "name", "picture"]
  static let page = Provider.openIDPage
  static let responseTypes: Set<String> = ["code", "id_token", "id_token token"]
  static let tokenSeconds = 3_600

  let clientID: String
  private(set) var azp: String?
  private(set) var emailVerified: Bool?
  private(set) var name: String?
  private(set) var picture: String?

  init(clientID: String) { self.clientID = clientID }

  /// The issuer is where the request has gone: see ``TokenForm/complete(nonce:issuer:hasAddress:)``.
  var issuer: String { "" }
  var audience: String { clientID }
  var lifetimeSeconds: Int { Self.tokenSeconds }

  static func problem(_ request: AuthorizationRequest) -> ProviderError? {
    request.scopes.contains("openid") ? nil : ProviderError("invalid_scope", "The scope openid is missing.")
  }

  func limited(to scopes: Set<Substring>) -> Self {
    var profile = self
    if !scopes.contains("profile") { (profile.name, profile.picture) = (nil, nil) }
    return profile
  }

  /// The issuer, against mix-up (RFC 9207).
  func additions(_ request: AuthorizationRequest, _ form: TokenForm, isFirst: Bool) -> [(name: String, value: String)] {
    [("iss", form.issuer ?? "")]
  }

  func put(into claims: inout JSONObjectWriter, _ form: TokenForm, issuedAt: Int) {
    claims.put("azp", azp)
    put(into: &claims, form)
  }

  /// The part that the answer of `userinfo` has, too.
  func put(into claims: inout JSONObjectWriter, _ form: TokenForm) {
    if form.email != nil { claims.put("email_verified", emailVerified ?? true) }
    claims.put("name", name)
    claims.put("picture", picture)
  }
}
