public import CountersignTelemetry

/// An operator has lifted a block: the event `conversion.lifted`, and the reply to `conversion.lift`. A block that ends by itself is
/// not told of.
public struct ConversionLifted: Event, Hashable {
  public static let type = MessageType("conversion.lifted")

  public var scope: ConversionScope
  public var key: String
  public var region: String
  public var blockedAt: UnixTime
  /// When it would have ended.
  public var until: UnixTime
  public var liftedAt: UnixTime

  public init(
    scope: ConversionScope, key: String, region: String, blockedAt: UnixTime, until: UnixTime, liftedAt: UnixTime
  ) {
    self.scope = scope
    self.key = key
    self.region = region
    self.blockedAt = blockedAt
    self.until = until
    self.liftedAt = liftedAt
  }
}
