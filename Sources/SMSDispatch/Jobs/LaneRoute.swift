/// Which numbers a lane serves.
public struct LaneRoute: Sendable {
  public let lane: any SMSLane
  /// The regions (ISO 3166-1 alpha-2) that it serves; all, when it is empty.
  public let regions: Set<String>

  public init(_ lane: any SMSLane, regions: Set<String> = []) {
    self.lane = lane
    self.regions = regions
  }

  /// Whether the lane serves a region. A number of none (an international service) is served by lanes without a list only.
  func serves(_ region: String?) -> Bool {
    regions.isEmpty || region.map(regions.contains) ?? false
  }
}
