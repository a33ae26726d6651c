public import CountersignTelemetry

/// Command `conversion.lift`: lifts the block of a prefix or a region and resets its counts.
///
/// A command of operators, see ``ListConversions``.
public struct LiftConversionBlock: Command, Hashable {
  public typealias Reply = ConversionLifted
  public static let type = MessageType("conversion.lift")

  /// Key of the block: a prefix (`+1415555`) or a region (`US`).
  public var key: String

  public init(key: String) {
    self.key = key
  }
}

/// Reply to `conversion.lift` and event `conversion.lifted`: an operator lifted a block. A block that expires has no
/// event.
public struct ConversionLifted: Event, Hashable {
  public static let type = MessageType("conversion.lifted")

  public var scope: ConversionScope
  public var key: String
  public var region: String
  public var blockedAt: UnixTime
  /// Time at which it would have expired.
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

/// Event `conversion.blocked`: too few of the codes sent to a prefix or a region came back, so it receives no SMS for a
/// while. Either traffic is being pumped or SMS do not arrive.
public struct ConversionBlocked: Event, Hashable {
  public static let type = MessageType("conversion.blocked")

  public var scope: ConversionScope
  /// Prefix (`+1415555`) or region (`US`), as `conversion.lift` takes it.
  public var key: String
  public var region: String
  public var blockedAt: UnixTime
  /// Time at which it expires.
  public var until: UnixTime
  /// Verifications that ended within the window, with an SMS that no provider had reported as undelivered.
  public var sent: Int
  /// Those of them whose code came back.
  public var verified: Int
  /// Percentage of codes that had to come back.
  public var floorPercent: Int
  public var windowSeconds: Int

  /// - Parameters:
  ///   - block: the block.
  ///   - floorPercent: percentage of codes that had to come back.
  ///   - windowSeconds: time for which an ended verification is counted.
  public init(_ block: ConversionList.Block, floorPercent: Int, windowSeconds: Int) {
    scope = block.scope
    key = block.key
    region = block.region
    blockedAt = block.blockedAt
    until = block.until
    sent = block.sent
    verified = block.verified
    self.floorPercent = floorPercent
    self.windowSeconds = windowSeconds
  }
}
