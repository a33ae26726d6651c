/// A lane with the rules for the messages that take it, and for the changes it may make to their texts.
struct LaneRoute: Sendable {
  let lane: any SMSLane
  let rules: RouteRules
  /// Changes to a text that takes several segments.
  let text: TextOptions
  /// Whether a job that asks for this lane by its name gets it although the rules do not let it through.
  let allowsPinned: Bool

  init(
    _ lane: any SMSLane, rules: RouteRules = RouteRules(), text: TextOptions = .none, allowsPinned: Bool = false
  ) {
    self.lane = lane
    self.rules = rules
    self.text = text
    self.allowsPinned = allowsPinned
  }

  init(_ lane: any SMSLane, regions: Set<String>) {
    self.init(lane, rules: RouteRules(regions: regions))
  }
}

/// Rules for the messages of a lane. An empty rule lets everything through; a message has to pass all of them.
struct RouteRules: Sendable, Hashable {
  /// Regions (ISO 3166-1 alpha-2) of the numbers.
  var regions: Set<String>
  /// Prefixes of the numbers, in E.164: `+49`, `+49151`.
  var prefixes: [String]
  /// Apps that jobs name.
  var apps: Set<String>
  /// Share among neighboring lanes with a weight. `nil`: the lane keeps its place.
  var weight: Double?

  /// - Parameters:
  ///   - regions: ISO 3166-1 alpha-2; empty: all.
  ///   - prefixes: prefixes of numbers in E.164; empty: all.
  ///   - apps: names of apps as in the jobs; empty: all, and jobs without one.
  ///   - weight: more than 0.
  init(
    regions: Set<String> = [], prefixes: [String] = [], apps: Set<String> = [], weight: Double? = nil
  ) {
    precondition(weight ?? 1 > 0, "A weight is more than 0.")
    self.regions = regions
    self.prefixes = prefixes
    self.apps = apps
    self.weight = weight
  }

  func admit(number: String, app: String?, region: () -> String?) -> Bool {
    guard apps.isEmpty || app.map(apps.contains) ?? false else { return false }
    guard prefixes.isEmpty || prefixes.contains(where: number.hasPrefix) else { return false }
    return regions.isEmpty || region().map(regions.contains) ?? false
  }
}
