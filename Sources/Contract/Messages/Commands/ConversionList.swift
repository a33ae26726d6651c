public import CountersignTelemetry

/// How many of the codes that were sent came back: the reply to `conversion.list`.
public struct ConversionList: MessageBody, Hashable {
  public static let type = MessageType("conversion.listed")

  /// Whether a prefix or a region is blocked when too few codes come back.
  public var enabled: Bool
  /// Of a hundred codes so many have to come back, where no region has a floor of its own.
  public var floorPercent: Int
  /// How long what has ended is counted.
  public var windowSeconds: Int
  /// How many blocks are in force; ``blocks`` may have fewer.
  public var blockCount: Int
  /// The latest first.
  public var blocks: [Block]
  /// The one with the most codes that did not come back first.
  public var regions: [Figures]
  /// The one with the most codes that did not come back first.
  public var prefixes: [Figures]

  public init(
    enabled: Bool, floorPercent: Int, windowSeconds: Int, blockCount: Int, blocks: [Block], regions: [Figures],
    prefixes: [Figures]
  ) {
    self.enabled = enabled
    self.floorPercent = floorPercent
    self.windowSeconds = windowSeconds
    self.blockCount = blockCount
    self.blocks = blocks
    self.regions = regions
    self.prefixes = prefixes
  }

  /// Nothing is sent there.
  public struct Block: Codable, Sendable, Hashable {
    public var scope: ConversionScope
    public var key: String
    public var region: String
    public var blockedAt: UnixTime
    public var until: UnixTime
    /// What was counted when it was blocked.
    public var sent: Int
    public var verified: Int

    public init(
      scope: ConversionScope, key: String, region: String, blockedAt: UnixTime, until: UnixTime, sent: Int,
      verified: Int
    ) {
      self.scope = scope
      self.key = key
      self.region = region
      self.blockedAt = blockedAt
      self.until = until
      self.sent = sent
      self.verified = verified
    }
  }

  /// What was counted within the last ``windowSeconds``.
  public struct Figures: Codable, Sendable, Hashable {
    public var key: String
    public var region: String
    /// Verifications that have ended and for which a message was sent that no provider reports as not delivered.
    public var sent: Int
    /// Those among them whose code came back.
    public var verified: Int

    public init(key: String, region: String, sent: Int, verified: Int) {
      self.key = key
      self.region = region
      self.sent = sent
      self.verified = verified
    }
  }
}
