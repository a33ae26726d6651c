import NumberRules
import ServiceRuntime

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
