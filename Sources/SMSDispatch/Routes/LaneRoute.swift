/// Which messages a lane takes.
public struct LaneRoute: Sendable {
  public let lane: any SMSLane
  public let rules: RouteRules

  public init(_ lane: any SMSLane, rules: RouteRules = RouteRules()) {
    self.lane = lane
    self.rules = rules
  }

  public init(_ lane: any SMSLane, regions: Set<String>) {
    self.init(lane, rules: RouteRules(regions: regions))
  }
}
