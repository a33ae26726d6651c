import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Claims of an ID token or a session cookie, from the account and the session.
struct TokenClaims {
  /// So much that a signed token stays below ``IDTokens/maxBytes``: base64url takes a third more.
  static let maxBytes = 11_000

  let account: AccountRecord
  let session: SessionRecord
  let now: UnixTime
  /// Time for which a cookie is valid. `nil` for an ID token.
  var cookieLife: Duration?

  /// The claims as JSON. Those of the other identities are left out where they would make the token too long to be
  /// taken back.
  var json: [UInt8] {
    let all = json(account.identities)
    return all.count <= Self.maxBytes ? all : json(account.identities.filter { $0.provider == session.provider.name })
  }

  /// A token is never from before the time since which tokens of the account are valid: with clocks of two hosts, a
  /// fresh one would be void. Nor is its sign-in from after it: verifiers refuse that.
  private func json(_ identities: [LinkedIdentity]) -> [UInt8] {
    let issuedAt = Int(max(now, account.validSince).seconds)
    let address = account.address
    let custom = CustomClaims.merged(account.claims, session.claims)
    var claims = JSONObjectWriter(reserving: 640)
    if custom["name"] == nil { claims.put("name", account.displayName) }
    if custom["picture"] == nil { claims.put("picture", account.photoURL) }
    for (name, value) in custom.sorted(by: { $0.key < $1.key }) { claims.put(named: name, literal: value.json()) }
    if account.isAnonymous { claims.put("provider_id", SignInProvider.anonymous.name) }
    claims.put("iss", (cookieLife == nil ? IDTokens.issuer : SessionCookies.issuer)(account.project))
    claims.put("aud", account.project)
    claims.put("auth_time", min(Int(session.authTime.seconds), issuedAt))
    claims.put("user_id", account.localID)
    claims.put("sub", account.localID)
    claims.put("iat", issuedAt)
    claims.put("exp", issuedAt + Int((cookieLife ?? IDTokens.lifetime).components.seconds))
    claims.put("sid", session.id.text)
    if let address {
      claims.put("email", address.email)
      claims.put("email_verified", address.isVerified)
    }
    claims.put("phone_number", account.phoneNumber)
    claims.put("firebase", object: firebase(identities, address?.email))
    return claims.finished()
  }

  private func firebase(_ linked: [LinkedIdentity], _ email: String?) -> [UInt8] {
    var identities = JSONObjectWriter()
    if let number = account.phoneNumber { identities.put(named: "phone", texts: [number]) }
    if let email { identities.put(named: "email", texts: [email]) }
    for identity in linked { identities.put(named: identity.provider, texts: [identity.subject]) }
    var firebase = JSONObjectWriter()
    firebase.put("identities", object: identities.finished())
    firebase.put("sign_in_provider", session.provider.name)
    firebase.put("sign_in_second_factor", session.secondFactor?.rawValue)
    firebase.put("second_factor_identifier", session.enrollmentID)
    return firebase.finished()
  }
}
