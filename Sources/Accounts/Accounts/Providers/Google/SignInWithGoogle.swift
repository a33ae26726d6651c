import CountersignMessages
import CountersignTelemetry
import Projects

/// Google by an ID token, by an access token alone, or at Google's page.
struct SignInWithGoogle: IdentityProvider {
  /// Longest access token. Google's have some 200 bytes, and reserve 2,048.
  private static let maxAccessTokenBytes = 4096
  /// Domains of mailboxes that Google itself runs for anybody.
  private static let ownDomains = ["@gmail.com", "@googlemail.com"]

  let id = GoogleSettings.id
  let tokens: ProviderTokens
  let profiles: ProfileFetch
  let tokenInfoURL: String
  let userInfoURL: String
  let page: ProviderPage
  let secrets: ProviderSecrets

  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    let accessToken = credential.accessToken.flatMap { $0.isEmpty ? nil : $0 }
    guard (accessToken?.utf8.count ?? 0) <= Self.maxAccessTokenBytes else {
      throw .invalidIDPResponse("the access token is too long")
    }
    let clientIDs = project.clientIDs(of: id)
    var identity: ProvenIdentity
    if let token = credential.idToken, !token.isEmpty {
      let claims = try await tokens.verify(token, of: clientIDs, in: project, at: now)
      if !claims.isEmulated { try Self.check(claims, of: clientIDs, nonce: credential.nonce) }
      identity = try Self.identity(claims, at: now)
      identity.oauthIDToken = Secret(token)
    } else if let accessToken, let claims = tokens.emulated(accessToken, in: project) {
      identity = try Self.identity(claims, at: now)
    } else if let accessToken {
      identity = try await self.identity(of: accessToken, clientIDs, at: now)
    } else {
      throw .invalidIDPResponse("an ID token or an access token of Google is needed")
    }
    identity.oauthAccessToken = accessToken.map(Secret.init)
    return identity
  }

  /// Google is given the nonce as it is, or its hash, as the app likes. Its libraries for apps draw one of their own.
  static func check(_ claims: ProviderClaims, of clientIDs: [String], nonce: String?) throws(APIError) {
    if let party = claims.text("azp"), !clientIDs.contains(party) {
      throw .invalidIDPResponse("the ID token was issued to another app: its azp is not one of the project's")
    }
    guard let nonce, !nonce.isEmpty else { return }
    guard let claimed = claims.text("nonce"), claimed == nonce || claimed == ProviderNonce.hash(nonce) else {
      throw .wrongNonce
    }
  }

  /// An address is believed where Google runs its mailbox.
  static func identity(_ claims: ProviderClaims, at now: UnixTime) throws(APIError) -> ProvenIdentity {
    var identity = try claims.identity(of: GoogleSettings.id, at: now)
    let address = identity.email?.lowercased() ?? ""
    let isOwn = claims.text("hd") != nil || ownDomains.contains(where: address.hasSuffix)
    identity.isEmailBelieved = identity.isEmailVerified && isOwn
    return identity
  }

  private func identity(
    of accessToken: String, _ clientIDs: [String], at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    let query = [(name: "access_token", value: accessToken)]
    guard case .found(let facts) = try await profiles.ask(tokenInfoURL, query) else {
      throw .invalidIDPResponse("Google refuses the access token")
    }
    let info = ProviderClaims(facts)
    guard info.texts("aud").contains(where: clientIDs.contains),
      info.text("azp").map(clientIDs.contains) ?? true
    else { throw .invalidIDPResponse("the access token was issued to another app") }
    guard let expiry = info.time("exp"), now < expiry else {
      throw .invalidIDPResponse("the access token has expired")
    }
    guard case .found(let profile) = try await profiles.ask(userInfoURL, bearer: Secret(accessToken)) else {
      throw .invalidIDPResponse("Google refuses the access token")
    }
    let claims = ProviderClaims(profile)
    guard let subject = claims.text("sub"), info.text("sub").map({ $0 == subject }) ?? true else {
      throw .invalidIDPResponse("the access token is another user's")
    }
    var identity = try Self.identity(claims, at: now)
    identity.oauthExpiresIn = Int((expiry - now).components.seconds)
    return identity
  }
}
