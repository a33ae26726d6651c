import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Sign in with Apple by an ID token, which counts once, or at Apple's page.
struct SignInWithApple: IdentityProvider {
  let id = AppleSettings.id
  let tokens: ProviderTokens
  let page: ProviderPage
  let secrets: ProviderSecrets
  /// `nil` where no refresh token is kept.
  let grants: GrantSealer?

  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let token = credential.idToken, !token.isEmpty else {
      throw .invalidIDPResponse("an ID token of Apple is needed: id_token is missing")
    }
    let claims = try await tokens.verify(token, of: project.clientIDs(of: id), in: project, at: now)
    var identity = try identity(claims, user: credential.user, at: now)
    if !claims.isEmulated {
      try ProviderNonce.check(credential.nonce, claims, mayBeAbsent: !claims.isTrue("nonce_supported"))
      identity.countsOnce = Self.spent(token, claims)
    }
    identity.oauthIDToken = Secret(token)
    return identity
  }

  /// - Parameter user: what Apple gives once, beside the ID token.
  func identity(_ claims: ProviderClaims, user: String?, at now: UnixTime) throws(APIError) -> ProvenIdentity {
    var identity = try claims.identity(of: id, at: now)
    identity.isEmailBelieved = identity.isEmailVerified
    if claims.isTrue("is_private_email") { identity.isRelayAddress = true }
    if let user, !user.isEmpty { identity.take(AppleName(user)) }
    return identity
  }

  /// The signed part alone: a signature may be written in several ways.
  private static func spent(_ token: String, _ claims: ProviderClaims) -> SpentCredential? {
    guard let end = ProviderTokens.end(of: claims), let dot = token.lastIndex(of: ".") else { return nil }
    let hash = Hexadecimal.encode(SHA256.hash(Array(token[..<dot].utf8)))
    return SpentCredential(value: [AppleSettings.id, hash], until: end)
  }
}

/// Name that Apple gives the app once, at the first sign-in: `{"name": {"firstName", "lastName"}}`. Nothing vouches for
/// it.
struct AppleName: Sendable {
  private static let maxBytes = 4096

  let given: String?
  let family: String?

  /// Without a name when it cannot be read: Apple's own SDK for apps leaves `&` and `+` in it as they are, which cuts
  /// it off, and a sign-in does not fail over a name.
  init(_ json: String) {
    var members: [String: JSONValue]?
    do throws(JSONRefusal) {
      members = try JSONReader(maxBytes: Self.maxBytes).value(of: Array(json.utf8)).members
    } catch {}
    let name = members?["name"]?.members ?? [:]
    given = name["firstName"]?.text.flatMap(ProfileText.name)
    family = name["lastName"]?.text.flatMap(ProfileText.name)
  }
}

extension ProvenIdentity {
  fileprivate mutating func take(_ name: AppleName) {
    givenName = name.given ?? givenName
    familyName = name.family ?? familyName
    let whole = [name.given, name.family].compactMap { $0 }.joined(separator: " ")
    displayName = ProfileText.name(whole) ?? displayName
  }
}
