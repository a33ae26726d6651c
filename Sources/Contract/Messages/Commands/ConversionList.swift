public import CountersignTelemetry

/// Command `conversion.list`: lists conversions (codes returned per codes sent), and the blocks of prefixes and
/// regions.
///
/// A command of operators: the coordinator answers it to the broker users that its configuration names. The message
/// carries its user in `user_id`, which the broker checks.
public struct ListConversions: Command, Hashable {
  public typealias Reply = ConversionList
  public static let type = MessageType("conversion.list")

  /// Maximum entries of each list. ``defaultLimit`` if absent.
  public var limit: Int?

  public static let defaultLimit = 20
  /// More would not fit into one message.
  public static let maxLimit = 100

  public init(limit: Int? = nil) {
    self.limit = limit
  }
}

/// Reply to `conversion.list`: conversions and blocks.
public struct ConversionList: MessageBody, Hashable {
  public static let type = MessageType("conversion.listed")

  /// Whether a prefix or a region is blocked when too few codes come back.
  public var enabled: Bool
  /// Percentage of codes that must come back, for regions without a floor of their own.
  public var floorPercent: Int
  /// Time for which an ended verification is counted.
  public var windowSeconds: Int
  /// Number of blocks in force. ``blocks`` may have fewer.
  public var blockCount: Int
  /// Latest first.
  public var blocks: [Block]
  /// Most missing codes first.
  public var regions: [Figures]
  /// Most missing codes first.
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

  /// Block of a prefix or a region: it receives no SMS.
  public struct Block: Codable, Sendable, Hashable {
    public var scope: ConversionScope
    public var key: String
    public var region: String
    public var blockedAt: UnixTime
    public var until: UnixTime
    /// Codes sent, as of the block.
    public var sent: Int
    /// Codes returned, as of the block.
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

  /// Counts of the last ``windowSeconds``.
  public struct Figures: Codable, Sendable, Hashable {
    public var key: String
    public var region: String
    /// Ended verifications with an SMS that no provider reported as undelivered.
    public var sent: Int
    /// Those of them whose code came back.
    public var verified: Int

    public init(key: String, region: String, sent: Int, verified: Int) {
      self.key = key
      self.region = region
      self.sent = sent
      self.verified = verified
    }
  }
}

/// Scope of a conversion. More words may be added.
public struct ConversionScope: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Numbers that differ in their last four digits only. The key is their common part: `+1415555`.
  public static let prefix = ConversionScope(rawValue: "prefix")
  /// A country. The key is its code (`US`), or the calling code of numbers without a country (`+883`).
  public static let region = ConversionScope(rawValue: "region")

  public static let known: [ConversionScope] = [.prefix, .region]
}
