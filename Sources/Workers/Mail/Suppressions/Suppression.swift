public import CountersignTelemetry

/// An address that nothing is sent to any more, because a server said that nobody is there.
public struct Suppression: Sendable, Hashable {
  /// In lower case.
  public let address: String
  public let since: UnixTime
  /// This system's word for why: `RECIPIENT_GONE`.
  public let reason: String
  /// The server's codes: `550 5.1.1`.
  public let providerCode: String?
  /// The job that found out.
  public let jobID: String

  /// - Parameters:
  ///   - address: In lower case.
  ///   - since: When it was found out.
  ///   - reason: This system's word for why.
  ///   - providerCode: The server's codes.
  ///   - jobID: The job that found out.
  public init(address: String, since: UnixTime, reason: String, providerCode: String?, jobID: String) {
    self.address = address
    self.since = since
    self.reason = reason
    self.providerCode = providerCode
    self.jobID = jobID
  }
}
