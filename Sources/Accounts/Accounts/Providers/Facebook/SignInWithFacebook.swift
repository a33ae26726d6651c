import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Facebook by an access token, by the ID token of Limited Login, or at Facebook's page. Its addresses are never believed.
struct SignInWithFacebook: IdentityProvider {
  private static let maxAccessTokenBytes = 4096

  let id = FacebookSettings.id
  let tokens: ProviderTokens
  let profiles: ProfileFetch
  /// Address with the version.
  let graph: String
  let page: ProviderPage
  let secrets: ProviderSecrets

  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let appID = project.providers[id]?.appID else { throw .invalidIDPResponse("the project has no Facebook app") }
    if let token = credential.accessToken, !token.isEmpty {
      if let claims = tokens.emulated(token, in: project) { return try identity(claims, at: now) }
      return try await identity(of: token, appID: appID, project, at: now)
    }
    guard let token = credential.idToken, !token.isEmpty else {
      throw .invalidIDPResponse("an access token of Facebook, or an ID token of Limited Login, is needed")
    }
    let claims = try await tokens.verify(token, of: [appID], in: project, at: now)
    if !claims.isEmulated { try ProviderNonce.check(credential.nonce, claims, mayBeAbsent: false) }
    var identity = try identity(claims, at: now)
    identity.oauthIDToken = Secret(token)
    return identity
  }

  private func identity(_ claims: ProviderClaims, at now: UnixTime) throws(APIError) -> ProvenIdentity {
    var identity = try claims.identity(of: id, at: now)
    // Facebook does not say that an address is its user's.
    identity.isEmailVerified = false
    return identity
  }

  // MARK: Access tokens

  func identity(
    of token: String, appID: String, _ project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard token.utf8.count <= Self.maxAccessTokenBytes else {
      throw .invalidIDPResponse("the access token is too long")
    }
    guard let secret = secrets[project.id, id] else { throw .providerSecretWrong(id) }
    let grant = try await grant(of: token, appID: appID, secret, at: now)
    let proof = HMACSHA256.authenticate(Array(token.utf8), key: Array(secret.reveal().utf8))
    let query = [
      (name: "fields", value: "id,name,first_name,last_name,email,picture"), (name: "access_token", value: token),
      (name: "appsecret_proof", value: Hexadecimal.encode(proof)),
    ]
    guard case .found(let profile) = try await profiles.ask("\(graph)/me", query) else {
      throw .invalidIDPResponse("Facebook refuses the access token")
    }
    guard profile["id"]?.text == grant.user else { throw .invalidIDPResponse("the access token is another user's") }
    var identity = try identity(ProviderClaims(Self.claims(profile)), at: now)
    let userInfo = ProviderClaims(profile).json
    guard userInfo.utf8.count <= ProvenIdentity.maxUserInfoBytes else {
      throw .invalidIDPResponse("the profile is too long")
    }
    identity.rawUserInfo = userInfo
    identity.oauthAccessToken = Secret(token)
    identity.oauthExpiresIn = grant.expiry.map { Int(($0 - now).components.seconds) }
    return identity
  }

  /// Whom a token was issued to, for our app alone.
  private func grant(
    of token: String, appID: String, _ secret: Secret, at now: UnixTime
  ) async throws(APIError) -> (user: String, expiry: UnixTime?) {
    let query = [
      (name: "input_token", value: token), (name: "access_token", value: "\(appID)|\(secret.reveal())"),
    ]
    let data: ProviderClaims
    switch try await profiles.ask("\(graph)/debug_token", query) {
    case .refused(let refusal):
      if refusal.isOfSecret { throw .providerSecretWrong(id) }
      throw .invalidIDPResponse("Facebook refuses the access token")
    case .found(let members): data = ProviderClaims(members["data"]?.members ?? [:])
    }
    guard data.text("app_id") == appID else { throw .invalidIDPResponse("the access token was issued to another app") }
    // Zero is that of a token that does not expire.
    let expiry = data.time("expires_at").flatMap { $0.seconds == 0 ? nil : $0 }
    guard data.isTrue("is_valid"), data.text("type") == "USER", expiry.map({ now < $0 }) ?? true,
      let user = data.text("user_id")
    else { throw .invalidIDPResponse("the access token is not valid, has expired, or is not a user's") }
    return (user, expiry)
  }

  /// The profile under the names of OpenID Connect.
  private static func claims(_ profile: [String: JSONValue]) -> [String: JSONValue] {
    let names = [
      "sub": "id", "name": "name", "given_name": "first_name", "family_name": "last_name", "email": "email",
    ]
    var claims = names.compactMapValues { profile[$0] }
    claims["picture"] = profile["picture"]?.members?["data"]?.members?["url"]
    return claims
  }
}
