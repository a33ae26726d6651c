public import CountersignTelemetry

/// A simulated account at MessageBird.
public struct MessageBirdSettings: Sendable {
  /// What it sends with.
  public var accessKey = Secret("live_simulated_access_key")
  /// What its status reports are signed with.
  public var signingKey = Secret("simulated-signing-key")
}
