public import CountersignTelemetry

/// A simulated account at Vonage.
public struct VonageSettings: Sendable {
  /// The account.
  public var apiKey = "abcd1234"
  /// What it sends with.
  public var apiSecret = Secret("simulated-api-secret")
  /// What its delivery receipts are signed with.
  public var signatureSecret = Secret("simulated-signature-secret")
}
