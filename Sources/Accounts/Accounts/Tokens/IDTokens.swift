import CommandEngine
import CountersignCryptography
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
      return Secret(
        try JWS.sign(TokenClaims(account: account, session: session, now: now).json, with: key, header: ["typ": "JWT"]))
    } catch {
      throw StoreError(.content, "an ID token cannot be signed: \(error)")
    }
  }
}
