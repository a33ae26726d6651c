import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Makes session cookies: tokens with the claims of ID tokens that live for days, under keys of their own.
///
/// The first key is made with the first cookie: most projects never ask for one.
struct SessionCookies: Sendable {
  /// Seconds of validity.
  static let lives = 300...1_209_600
  static let longestLife = Duration.seconds(lives.upperBound)

  let keys: SigningKeys
  let maintenance: SigningKeyMaintenance

  init(_ keys: SigningKeys, beside idTokenKeys: SigningKeys, _ metrics: MetricsRegistry, _ logger: Logger) {
    self.keys = keys
    maintenance = SigningKeyMaintenance(keys, metrics, logger, beside: idTokenKeys)
  }

  static func issuer(of project: String) -> String { "https://session.firebase.google.com/\(project)" }

  /// - Returns: `nil` while no key signs.
  func cookie(
    of holder: IDTokenCheck.Holder, validFor life: Duration, at now: UnixTime
  ) throws(StoreError) -> Secret? {
    guard let key = keys.signing(at: now) else { return nil }
    let claims = TokenClaims(account: holder.account, session: holder.session, now: now, cookieLife: life)
    do throws(JOSEError) {
      return Secret(try JWS.sign(claims.json, with: key, header: ["typ": "JWT"]))
    } catch {
      throw StoreError(.content, "a session cookie cannot be signed: \(error)")
    }
  }
}
