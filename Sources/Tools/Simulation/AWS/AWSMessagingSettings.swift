public import CountersignTelemetry

/// A simulated account at AWS End User Messaging.
public struct AWSMessagingSettings: Sendable {
  /// The ID of the access key.
  public var accessKeyID = "AKIDSIMULATED00001"
  /// Key with which requests are signed.
  public var secretKey = Secret("simulated-secret-access-key")
  /// The token that has to come with the access key, when it is a temporary one.
  public var sessionToken: Secret?
  /// The region that requests must be signed for.
  public var region = "eu-central-1"
  /// Numbers, sender IDs and pools that the account has.
  public var originationIdentities: Set<String> = ["Example", "+15005550006"]

  /// The settings of a test.
  public init() {}
}
