import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

struct IDTokens: Sendable {
  static let lifetime = Duration.seconds(3600)
  static let maxBytes = 16_384
  /// The longest subject that verifiers take.
  static let maxSubject = 128
  /// Time by which a token may be from the future: clocks of several hosts differ.
  static let maxSkew = Duration.seconds(300)

  let keys: SigningKeys
  let refreshTokens: RefreshTokens

  static func issuer(of project: String) -> String { "https://securetoken.google.com/\(project)" }

  /// Made once a command.
  func tokens(
    for account: AccountRecord, _ session: SessionRecord, sealedFor seal: ReplySeal, at now: UnixTime
  ) throws(StoreError) -> SessionTokens {
    let content = ReplySeal.TokenContent(account: account, session: session, now: now)
    return try seal.tokens.value(of: content) { () throws(StoreError) in
      SessionTokens(
        idToken: try seal.seal(idToken(for: account, session, at: now)),
        refreshToken: try seal.seal(refreshTokens.make(for: session)),
        expiresIn: Int(Self.lifetime.components.seconds))
    }
  }

  func idToken(
    for account: AccountRecord, _ session: SessionRecord, at now: UnixTime
  ) throws(StoreError) -> Secret {
    guard let key = keys.signing(at: now) else { throw StoreError(.content, "no key signs ID tokens") }
    do throws(JOSEError) {
      return Secret(try JWS.sign(Self.claims(of: account, session, at: now), with: key, header: ["typ": "JWT"]))
    } catch {
      throw StoreError(.content, "an ID token cannot be signed: \(error)")
    }
  }

  // MARK: Claims

  /// A token is never from before the time since which tokens of the account are valid: with clocks of two hosts, a
  /// fresh one would be void. Nor is its sign-in from after it: verifiers refuse that.
  private static func claims(of account: AccountRecord, _ session: SessionRecord, at now: UnixTime) -> [UInt8] {
    let issuedAt = Int(max(now, account.validSince).seconds)
    var claims = JSONObjectWriter(reserving: 640)
    claims.put("name", account.displayName)
    claims.put("picture", account.photoURL)
    if account.isAnonymous { claims.put("provider_id", SignInProvider.anonymous.name) }
    claims.put("iss", issuer(of: account.project))
    claims.put("aud", account.project)
    claims.put("auth_time", min(Int(session.authTime.seconds), issuedAt))
    claims.put("user_id", account.localID)
    claims.put("sub", account.localID)
    claims.put("iat", issuedAt)
    claims.put("exp", issuedAt + Int(lifetime.components.seconds))
    claims.put("sid", session.id.text)
    claims.put("phone_number", account.phoneNumber)
    var identities = JSONObjectWriter()
    if let number = account.phoneNumber { identities.put(named: "phone", texts: [number]) }
    var firebase = JSONObjectWriter()
    firebase.put("identities", object: identities.finished())
    firebase.put("sign_in_provider", session.provider.name)
    claims.put("firebase", object: firebase.finished())
    return claims.finished()
  }
}
