public import CountersignTelemetry

/// An address that gets no mail any longer, because a server reported it as nonexistent.
public struct Suppression: Sendable, Hashable {
  /// Address in lower case.
  public let address: String
  public let since: UnixTime
  /// Reason code of this system: `RECIPIENT_GONE`.
  public let reason: String
  /// Codes of the server: `550 5.1.1`.
  public let providerCode: String?
  /// ID of the job whose mail was refused.
  public let jobID: String

  public init(address: String, since: UnixTime, reason: String, providerCode: String?, jobID: String) {
    self.address = address
    self.since = since
    self.reason = reason
    self.providerCode = providerCode
    self.jobID = jobID
  }
}
