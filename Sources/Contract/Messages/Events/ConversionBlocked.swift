public import CountersignTelemetry

/// Too few of the codes that were sent to a prefix or a region came back, so nothing is sent there for a while: the event
/// `conversion.blocked`. Somebody may be pumping traffic, or messages do not arrive.
public struct ConversionBlocked: Event, Hashable {
  public static let type = MessageType("conversion.blocked")

  public var scope: ConversionScope
  /// The prefix (`+1415555`) or the region (`US`); what `conversion.lift` takes.
  public var key: String
  public var region: String
  public var blockedAt: UnixTime
  /// When it ends by itself.
  public var until: UnixTime
  /// Verifications that ended within the window and for which a message was sent that no provider had reported as not delivered.
  public var sent: Int
  /// Those among them whose code came back.
  public var verified: Int
  /// Of a hundred so many would have had to.
  public var floorPercent: Int
  public var windowSeconds: Int

  public init(
    scope: ConversionScope, key: String, region: String, blockedAt: UnixTime, until: UnixTime, sent: Int, verified: Int,
    floorPercent: Int, windowSeconds: Int
  ) {
    self.scope = scope
    self.key = key
    self.region = region
    self.blockedAt = blockedAt
    self.until = until
    self.sent = sent
    self.verified = verified
    self.floorPercent = floorPercent
    self.windowSeconds = windowSeconds
  }
}
