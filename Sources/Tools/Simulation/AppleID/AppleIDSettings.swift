public import CountersignTelemetry

/// Which clients the simulated Apple ID service knows.
public struct AppleIDSettings: Sendable {
  /// The team of the clients: `iss` of a client secret.
  public var teamID = "EXAMPLE001"
  /// Its keys (P-256, PEM) by key ID; either half will do.
  public var keys: [String: Secret] = [:]
  /// The bundle IDs and Services IDs: `sub` of a client secret.
  public var clientIDs: Set<String> = []
  /// `aud` of a client secret.
  public var audience = "https://appleid.apple.com"

  /// Settings with which every request is refused, since there is no client.
  public init() {}
}
