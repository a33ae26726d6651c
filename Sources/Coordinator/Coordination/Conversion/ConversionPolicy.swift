/// When so few codes come back from a prefix or a region that nothing is sent there any more.
///
/// Whoever pumps traffic is paid for messages and types no codes in: a low conversion is the one sign of it that does not depend on
/// where the requests come from. The defaults are those of the field's fraud guards: fewer than one in ten of at least 50 within an
/// hour, blocked for 12 hours, for a number without its last four digits (Twilio Verify, "Fraud Guard", error 60410).
/// `Config/coordinator.json5` explains each.
public struct ConversionPolicy: Sendable, Hashable {
  /// Whether anything is blocked. It is measured in any case.
  public var isEnabled = true
  /// Of a hundred codes that were sent so many have to come back.
  public var floorPercent = 10
  /// The floor of the regions for which it differs, and of the prefixes in them; with 0 they are never blocked.
  public var regionFloors: [String: Int] = [:]
  /// Of fewer verifications of a prefix nothing is concluded.
  public var minimumPerPrefix = 50
  /// Of fewer verifications of a region nothing is concluded. More than of a prefix: traffic through a single prefix, which is blocked
  /// by itself, must not close a small country to everybody.
  public var minimumPerRegion = 200
  /// How long a verification counts that has ended.
  public var window = Duration.seconds(3600)
  /// How long a block lasts.
  public var blockLength = Duration.seconds(12 * 3600)

  public init() {}

  /// The floor that a region, and the prefixes in it, are held to.
  func floor(of region: String) -> Int {
    regionFloors[region] ?? floorPercent
  }

  /// Whether so few codes came back that it must be blocked.
  func isTooLow(_ counts: ConversionCounts, of scope: ConversionBlock.Scope, in region: String) -> Bool {
    let minimum =
      switch scope {
      case .prefix: minimumPerPrefix
      case .region: minimumPerRegion
      }
    return counts.sent >= minimum && counts.verified * 100 < floor(of: region) * counts.sent
  }
}
