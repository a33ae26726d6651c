/// Thresholds below which a prefix or a region is blocked because too few codes come back.
///
/// SMS pumping is paid for messages and types in no codes: a low conversion is the one sign of it that does not depend
/// on the origin of the requests. The defaults are those of the field's fraud guards: fewer than one in ten of at least
/// 50 within an hour, blocked for 12 hours, for a number without its last four digits (Twilio Verify, "Fraud Guard",
/// error 60410). `Config/coordinator.json5` explains each.
public struct ConversionPolicy: Sendable, Hashable {
  /// Whether anything is blocked. The conversion is measured in any case.
  public var isEnabled = true
  /// Percentage of sent codes that have to come back.
  public var floorPercent = 10
  /// Floors of the regions, and the prefixes in them, that differ; 0 never blocks.
  public var regionFloors: [String: Int] = [:]
  /// Minimum verifications of a prefix for a judgment.
  public var minimumPerPrefix = 50
  /// Minimum verifications of a region for a judgment. Larger than for a prefix: traffic through a single prefix, which
  /// is blocked by itself, must not close a small country to everyone.
  public var minimumPerRegion = 200
  /// Time for which a verification counts after its end.
  public var window = Duration.seconds(3600)
  /// Duration of a block.
  public var blockLength = Duration.seconds(12 * 3600)

  public init() {}

  /// The floor for a region and the prefixes in it.
  func floor(of region: String) -> Int {
    regionFloors[region] ?? floorPercent
  }

  /// Whether so few codes came back that the key must be blocked.
  func isTooLow(_ counts: ConversionCounts, of scope: ConversionBlock.Scope, in region: String) -> Bool {
    let minimum =
      switch scope {
      case .prefix: minimumPerPrefix
      case .region: minimumPerRegion
      }
    return counts.sent >= minimum && counts.verified * 100 < floor(of: region) * counts.sent
  }
}
