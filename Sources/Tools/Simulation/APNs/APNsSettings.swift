public import CountersignTelemetry

/// Which pushes the simulated APNs takes.
public struct APNsSettings: Sendable {
  /// The team that sends.
  public var teamID = "EXAMPLE001"
  /// Its keys (P-256, PEM) by key ID; either half will do.
  public var keys: [String: Secret] = [:]
  /// The apps of the team, by bundle ID.
  public var topics: Set<String> = []

  /// Settings with which every push is refused, since there is no key.
  public init() {}
}
