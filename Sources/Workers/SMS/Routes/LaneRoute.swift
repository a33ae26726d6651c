/// Which messages a lane takes, and what it may do to their texts.
public struct LaneRoute: Sendable {
  public let lane: any SMSLane
  public let rules: RouteRules
  /// What may be done to a text that takes several segments.
  public let text: TextOptions
  /// Whether a job that asks for this lane by its name gets it even where the rules do not let it through.
  public let allowsPinned: Bool

  public init(
    _ lane: any SMSLane, rules: RouteRules = RouteRules(), text: TextOptions = .none, allowsPinned: Bool = false
  ) {
    self.lane = lane
    self.rules = rules
    self.text = text
    self.allowsPinned = allowsPinned
  }

  public init(_ lane: any SMSLane, regions: Set<String>) {
    self.init(lane, rules: RouteRules(regions: regions))
  }
}
