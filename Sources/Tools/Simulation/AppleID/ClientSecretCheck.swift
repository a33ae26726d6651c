import CountersignTelemetry

/// Checks the client ID and the client secret of a request
/// (https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret).
struct ClientSecretCheck: Sendable {
  /// Maximum lifetime of a client secret: six months, in Apple's own number.
  static let maxLifetimeSeconds: Int64 = 15_777_000
  /// Maximum time that the sender's clock may be ahead.
  static let clockToleranceSeconds: Int64 = 60

  private let keys: TokenKeys
  private let settings: AppleIDSettings

  init(_ settings: AppleIDSettings) throws(SimulationError) {
    keys = try TokenKeys(settings.keys)
    self.settings = settings
  }

  /// Client ID of a form. Apple does not distinguish the causes of a refusal.
  func client(_ form: Form, now: UnixTime) throws(AppleIDError) -> String {
    guard let clientID = form["client_id"], let secret = form["client_secret"] else {
      throw .invalidRequest("client_id and client_secret are required")
    }
    guard settings.clientIDs.contains(clientID), let (_, claims) = keys.verify(secret),
      claims.iss == settings.teamID, claims.sub == clientID, claims.aud == settings.audience,
      let issuedAt = claims.iat, let expiresAt = claims.exp,
      issuedAt <= now.seconds + Self.clockToleranceSeconds, expiresAt > now.seconds,
      expiresAt - issuedAt <= Self.maxLifetimeSeconds
    else { throw .invalidClient }
    return clientID
  }
}
