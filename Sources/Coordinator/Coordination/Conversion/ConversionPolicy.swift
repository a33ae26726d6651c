import NumberRules
import ServiceRuntime

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

extension ConversionPolicy {
  /// - Parameters:
  ///   - section: the section `conversion`.
  ///   - retention: how long finished verifications are kept.
  init(_ section: ConfigurationSection, retention: Duration) {
    self.init()
    isEnabled = section.bool(
      "enabled", default: isEnabled, "Whether a prefix or a region is blocked when too few of its codes come back.")
    floorPercent = section.integer(
      "floorPercent", default: floorPercent, in: 0...100, "Of a hundred codes that were sent so many have to come back."
    )
    regionFloors = section.integerMap(
      "regionFloors", in: 0...100, "The floor by region code, where it differs; 0 for regions that are never blocked.")
    section.checkRegions("regionFloors", regionFloors.keys.sorted())
    minimumPerPrefix = section.integer(
      "minimumPerPrefix", default: minimumPerPrefix, in: Self.minimums,
      "Of fewer verifications of a prefix nothing is concluded.")
    minimumPerRegion = section.integer(
      "minimumPerRegion", default: minimumPerRegion, in: Self.minimums,
      "Of fewer verifications of a region nothing is concluded.")
    window = section.seconds(
      "windowSeconds", default: window, in: .seconds(12)...(.seconds(86_400)),
      "How long a verification counts that has ended.")
    blockLength = section.seconds(
      "blockSeconds", default: blockLength, in: .seconds(1)...(.seconds(30 * 86_400)), "How long a block lasts.")
    if isEnabled, window > retention {
      section.warning(
        "windowSeconds", "is above verification.retentionSeconds, so a restart forgets a part of what was counted")
    }
  }

  private static let minimums = 1...1_000_000_000
}
