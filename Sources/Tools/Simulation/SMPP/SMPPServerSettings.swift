public import CountersignTelemetry

/// A simulated SMPP 3.4 server with one account.
public struct SMPPServerSettings: Sendable {
  /// The port; 0 for any that is free.
  public var port: UInt16 = 0
  /// The name of the account.
  public var systemID = "simulated"
  /// Its password, at most 8 bytes.
  public var password = Secret("password")
  /// Value that `system_type` has to have.
  public var systemType = ""
  /// Submissions of a session that may be under way at once; further ones are throttled.
  public var window = 100
  /// Submissions that are taken in a second; further ones are throttled.
  public var ratePerSecond: Int?

  /// The settings of a test.
  public init() {}
}
